// Notifications in the form each provider takes, cut to what it carries. Pure.
import { createHash } from 'node:crypto';
import { type AcceptedContent, EncodedData, type JsonObject, kind, type NotificationContent } from '@tocsin/contract';
import type { Notification } from '../../usecases/ports/index.ts';

export type Urgency = 'high' | 'normal' | 'low';

const secondsPerDay = 86_400;
/** The maximum of FCM; some push services reduce the time of Web Push messages to it. */
const maxTimeToLiveSeconds = 28 * secondsPerDay;

/** RFC 8030 section 7.2 lets a push service stop at 4,096 bytes of body; encryption needs 103 of them. */
const maxWebPushBytes = 3800;
/** 4,096 is the limit of FCM; its documentation does not define what is counted. */
const maxFcmBytes = 4000;
const maxApnsBytes = 4096;

const interruptionLevels = { high: 'time-sensitive', normal: 'active', low: 'passive' } as const;

/** Most callers send no severity, and people expect those to be delivered at once: only advertising may be delayed. */
export function urgencyOf({ severity, category }: Pick<NotificationContent, 'severity' | 'category'>): Urgency {
  if (severity === 'critical' || severity === 'error') return 'high';
  return category === 'promo' && severity !== 'warning' ? 'low' : 'normal';
}

/** How long a provider may keep the message for a device that is away: not longer than we keep it. 0 days: for ever. */
export function timeToLiveSeconds(createdAt: number, now: number, retentionDays: number): number {
  if (retentionDays === 0) return maxTimeToLiveSeconds;
  const left = Math.floor((createdAt - now) / 1000) + retentionDays * secondsPerDay;
  return Math.min(Math.max(left, 0), maxTimeToLiveSeconds);
}

/** The Topic of RFC 8030 section 5.4: the same for every try of one notification, so that a second replaces the first. */
export function topicOf(id: string): string {
  return createHash('sha256').update(id).digest('base64url').slice(0, 32);
}

export function webPushPayload({ id, createdAt, content }: Notification): Buffer {
  const payload = cutToFit(content, maxWebPushBytes, (parts) => ({
    id,
    type: kind,
    ...parts,
    createdAt: isoTime(createdAt),
  }));
  return Buffer.from(JSON.stringify(payload));
}

/** A message of FCM's HTTP v1 API, but for its token. The values of `data` have to be text. */
export function fcmMessage({ id, createdAt, content }: Notification, now: number, timeToLive: number): object {
  const urgency = urgencyOf(content);
  const delivery = {
    android: {
      priority: urgency === 'high' ? 'HIGH' : 'NORMAL',
      ttl: `${timeToLive}s`,
      collapse_key: id,
      notification: { tag: id },
    },
    apns: {
      headers: {
        'apns-priority': apnsPriority(urgency),
        'apns-expiration': apnsExpiration(now, timeToLive),
        'apns-collapse-id': id,
      },
      payload: { aps: { sound: 'default', 'interruption-level': interruptionLevels[urgency] } },
    },
  };
  return cutToFit(content, maxFcmBytes, ({ title, body, source, category, severity, data, truncated }) => ({
    notification: { title, body },
    data: {
      id,
      type: kind,
      source,
      category,
      ...(severity !== null && { severity }),
      ...(data !== undefined && { data: JSON.stringify(data) }),
      ...(truncated && { truncated: 'true' }),
      createdAt: isoTime(createdAt),
    },
    ...delivery,
  }));
}

export function apnsPayload({ id, createdAt, content }: Notification): Buffer {
  const level = interruptionLevels[urgencyOf(content)];
  const payload = cutToFit(content, maxApnsBytes, ({ title, body, ...rest }) => ({
    aps: { alert: { title, body }, sound: 'default', 'interruption-level': level },
    id,
    type: kind,
    ...rest,
    createdAt: isoTime(createdAt),
  }));
  return Buffer.from(JSON.stringify(payload));
}

/** 10: at once; 5: when it suits the battery. */
export function apnsPriority(urgency: Urgency): '10' | '5' {
  return urgency === 'low' ? '5' : '10';
}

/** Seconds of the epoch; 0 means: now or never. */
export function apnsExpiration(now: number, timeToLive: number): string {
  return timeToLive === 0 ? '0' : String(Math.floor(now / 1000) + timeToLive);
}

/** The content that fits. `data` and `truncated` are absent unless they are to be sent. */
interface Parts extends Omit<NotificationContent, 'data'> {
  data?: JsonObject;
  /** Something was left out; all of it is in the inbox. */
  truncated?: true;
}

/** Leaves out the data, then shortens body, title and source, in this order, until the JSON of what comes out fits. */
function cutToFit<T extends object>(content: AcceptedContent, maxBytes: number, render: (parts: Parts) => T): T {
  const fits = (parts: Parts): boolean => Buffer.byteLength(JSON.stringify(render(parts))) <= maxBytes;
  // Half a surrogate pair is no text: it becomes the replacement character here rather than an error at the provider.
  const { data, ...others } = content;
  const texts: Parts = {
    ...others,
    title: content.title.toWellFormed(),
    body: content.body.toWellFormed(),
    source: content.source.toWellFormed(),
  };
  // Encoded data is larger than any message.
  if (!(data instanceof EncodedData)) {
    const whole: Parts = { ...texts, data: toWellFormedJson(data) };
    if (fits(whole)) return render(whole);
  }
  let parts: Parts = { ...texts, truncated: true };
  for (const name of ['body', 'title', 'source'] as const) {
    if (fits(parts)) break;
    parts = { ...parts, [name]: shorten(parts[name], (text) => fits({ ...parts, [name]: text })) };
  }
  return render(parts);
}

/** The longest beginning of the text, in whole code points, that fits with an ellipsis behind it. */
function shorten(text: string, fits: (text: string) => boolean): string {
  const codePoints = Array.from(text);
  const take = (count: number): string => `${codePoints.slice(0, count).join('')}…`;
  let fitting = 0;
  let tooMany = codePoints.length;
  while (fitting + 1 < tooMany) {
    const middle = (fitting + tooMany) >> 1;
    if (fits(take(middle))) fitting = middle;
    else tooMany = middle;
  }
  return text === '' ? '' : take(fitting);
}

function toWellFormedJson(data: JsonObject): JsonObject {
  const text = JSON.stringify(data);
  // JSON.stringify writes halves of surrogate pairs, and nothing else of that range, as escapes.
  if (!/\\ud[89a-f]/.test(text)) return data;
  return JSON.parse(text, (_name, value) => {
    if (typeof value === 'string') return value.toWellFormed();
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name.toWellFormed(), member]));
  }) as JsonObject;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
