import type { JsonObject, JsonValue, Severity } from '@tocsin/contract';
import { membersOf, type Preset, type SenderEvent, type SenderRequest, textOf, urlOf } from '../event.ts';
import { keyOf } from '../text.ts';

interface Status {
  text: string;
  severity: Severity;
  resolved?: boolean;
}

/** By the number in `heartbeat.status`. */
const statuses: readonly Status[] = [
  { text: 'is down', severity: 'error', resolved: false },
  { text: 'is up', severity: 'info', resolved: true },
  { text: 'is pending', severity: 'warning' },
  { text: 'is under maintenance', severity: 'info' },
];

/** https://github.com/louislam/uptime-kuma/blob/master/server/notification-providers/webhook.js */
export const uptimeKuma: Preset = {
  name: 'uptime-kuma',
  label: 'Uptime Kuma',

  matches: ({ body }) => {
    const members = membersOf(body.value);
    return members.msg !== undefined && members.heartbeat !== undefined && members.monitor !== undefined;
  },

  read(request) {
    const { heartbeat, monitor, message } = fieldsOf(request);
    if (message === undefined) return null;
    const status = statuses[Number(textOf(heartbeat.status) ?? Number.NaN)];
    if (status === undefined) return readMessage(message);
    const id = textOf(heartbeat.monitorID) ?? textOf(monitor.id);
    const details = textOf(heartbeat.msg);
    return {
      title: `${textOf(monitor.name) ?? 'Monitor'} ${status.text}`,
      body: details === 'N/A' ? undefined : details,
      severity: status.severity,
      source: 'uptime-kuma',
      clickUrl: withoutPassword(urlOf(monitor.url)),
      threadKey: keyOf('monitor', id),
      resolved: status.resolved,
    };
  },
};

/** Tests of the address, and certificates and domains that expire, have nothing but a message. */
function readMessage(message: string): SenderEvent {
  return {
    title: message.replace(/\[https?:[^[\]]*\]/, ''),
    severity: / will expire in /.test(message) ? 'warning' : null,
    source: 'uptime-kuma',
  };
}

function fieldsOf({ body }: SenderRequest): {
  heartbeat: JsonObject;
  monitor: JsonObject;
  message: string | undefined;
} {
  const members = membersOf(body.value);
  return {
    heartbeat: membersOf(parsed(members.heartbeat)),
    monitor: membersOf(parsed(members.monitor)),
    message: textOf(members.msg),
  };
}

/** In the query of a GET request, `heartbeat` and `monitor` are JSON. */
function parsed(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as JsonValue;
  } catch {
    return undefined;
  }
}

/** A monitor may have its password in the address. */
function withoutPassword(url: string | undefined): string | undefined {
  return url !== undefined && new URL(url).password === '' ? url : undefined;
}
