import type { JsonObject } from '@tocsin/contract';
import { membersOf, type Preset, type SenderEvent, textOf, urlOf } from '../event.ts';
import { severityOf } from '../severity.ts';
import { joinLines, keyOf } from '../text.ts';

const source = 'netdata';

/** https://github.com/netdata/netdata/blob/master/integrations/cloud-notifications/integrations/webhook.md */
export const netdata: Preset = {
  name: 'netdata',
  label: 'Netdata',

  matches: ({ body }) => isAlert(membersOf(body.value)) || isReachability(membersOf(body.value)),

  read({ body }) {
    const members = membersOf(body.value);
    if (isAlert(members)) return readAlert(members);
    return isReachability(members) ? readReachability(members) : null;
  },
};

/** Older versions say `alarm` and `alarm_url`. */
function nameOf({ alert, alarm }: JsonObject): string | undefined {
  return textOf(alert) ?? textOf(alarm);
}

function isAlert(members: JsonObject): boolean {
  const { chart, context, severity } = members;
  return nameOf(members) !== undefined && chart !== undefined && context !== undefined && severity !== undefined;
}

function readAlert(members: JsonObject): SenderEvent {
  const name = nameOf(members);
  const severity = textOf(members.severity)?.toLowerCase() ?? 'raised';
  return {
    title: `${name} is ${severity}`,
    body: joinLines(textOf(members.message), textOf(members.info)),
    severity: severityOf(severity) ?? 'error',
    source,
    clickUrl: urlOf(members.alert_url) ?? urlOf(members.alarm_url),
    threadKey: keyOf('alert', `${name} ${textOf(members.chart) ?? ''}`),
    resolved: severity === 'clear',
  };
}

function isReachability({ host, status }: JsonObject): boolean {
  return textOf(host) !== undefined && typeof membersOf(status).reachable === 'boolean';
}

function readReachability(members: JsonObject): SenderEvent {
  const host = textOf(members.host);
  const isReachable = membersOf(members.status).reachable === true;
  return {
    title: `${host} is ${isReachable ? 'reachable' : 'unreachable'}`,
    body: textOf(members.message),
    severity: isReachable ? 'info' : (severityOf(members.severity) ?? 'error'),
    source,
    clickUrl: urlOf(members.url),
    threadKey: keyOf('reachability', host),
    resolved: isReachable,
  };
}
