import type { JsonObject, Severity } from '@tocsin/contract';
import { membersOf, type Preset, type SenderEvent, textOf, urlOf } from '../event.ts';
import { joinLines, keyOf } from '../text.ts';

const source = 'zabbix';

/** By `{EVENT.NSEVERITY}`, from "not classified" to "disaster". The names of severities can be changed in Zabbix. */
const severitiesByNumber: readonly Severity[] = ['info', 'info', 'warning', 'warning', 'error', 'critical'];
/** `{EVENT.SOURCE}` of triggers and services, the events that begin and end. */
const problemSources: ReadonlySet<string> = new Set(['0', '4']);

/**
 * https://www.zabbix.com/documentation/current/en/manual/config/notifications/media/webhook: media types post the macros of
 * an event under the names of the templates of Zabbix.
 */
export const zabbix: Preset = {
  name: 'zabbix',
  label: 'Zabbix',

  matches: ({ body }) => isEvent(membersOf(body.value)),

  read({ body }) {
    const members = membersOf(body.value);
    if (!isEvent(members)) return null;
    return problemSources.has(textOf(members.event_source) ?? '0') ? readProblem(members) : readOther(members);
  },
};

function isEvent(members: JsonObject): boolean {
  return (
    textOf(members.event_id) !== undefined &&
    textOf(members.event_value) !== undefined &&
    textOf(members.alert_subject) !== undefined
  );
}

function readProblem(members: JsonObject): SenderEvent {
  const isUpdate = textOf(members.event_update_status) === '1';
  const isResolved = textOf(members.event_value) === '0';
  const isFiring = !isUpdate && !isResolved;
  const name = textOf(members.event_name) ?? textOf(members.alert_subject) ?? '';
  const host = textOf(members.host_name);
  return {
    title: `${isUpdate ? 'Updated: ' : isResolved ? 'Resolved: ' : ''}${name}`,
    body: joinLines(
      host === undefined ? undefined : `Host: ${host}`,
      isUpdate ? updateOf(members) : undefined,
      textOf(members.alert_message),
    ),
    severity: isFiring ? (severitiesByNumber[Number(textOf(members.event_nseverity))] ?? 'error') : 'info',
    source,
    clickUrl: eventUrl(members) ?? urlOf(members.zabbix_url),
    threadKey: keyOf('event', textOf(members.event_id)),
    resolved: isUpdate ? undefined : isResolved,
  };
}

/** Events of discovery and autoregistration, which have no severity. */
function readOther(members: JsonObject): SenderEvent {
  return {
    title: textOf(members.alert_subject),
    body: textOf(members.alert_message),
    severity: null,
    source,
    clickUrl: urlOf(members.zabbix_url),
  };
}

/** `example-dev acknowledged: on it` */
function updateOf(members: JsonObject): string | undefined {
  const action = [members.event_update_user, members.event_update_action]
    .map(textOf)
    .filter((text) => text !== undefined);
  return textOf([action.join(' '), textOf(members.event_update_message)].filter((text) => text).join(': '));
}

/** The page of an event has the address that the templates of Zabbix make. */
function eventUrl(members: JsonObject): string | undefined {
  const base = urlOf(members.zabbix_url);
  const trigger = textOf(members.trigger_id);
  const event = textOf(members.event_id);
  if (base === undefined || trigger === undefined || event === undefined) return undefined;
  const query = new URLSearchParams({ triggerid: trigger, eventid: event });
  return `${base.endsWith('/') ? base.slice(0, -1) : base}/tr_events.php?${query}`;
}
