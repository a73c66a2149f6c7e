// A push message → the notification that the system shows. Pure.
import type { Category, Severity } from '@tocsin/contract/fields';
import { inWrittenOrder } from '../inbox/text-direction.ts';
import type { DeviceSettings } from '../push/device-settings.ts';
import { push } from '../text/en/push.ts';

/** What the gateway sends. It may have left `data` out, and shortened the texts, to fit into a message. */
interface PushMessage {
  id: string;
  title: string;
  body: string;
  category: Category;
  severity: Severity | null;
  data?: Record<string, unknown>;
  createdAt: string;
}

/** Of what a notification has, only what every system shows; browsers ignore members that they do not know. */
export interface ShownNotification {
  title: string;
  options: NotificationOptions & {
    data: { id: string | null };
    timestamp?: number;
    vibrate?: number[];
  };
}

const look = { icon: '/icon-192.png', badge: '/badge-96.png' };
const alarm = [300, 120, 300, 120, 600];
const mostPairs = 4;
const mostValueLength = 60;

export function toShown(text: string | undefined, { isInfoSilent }: DeviceSettings): ShownNotification {
  const message = parse(text);
  // A browser takes the permission away from pages that show nothing.
  if (message === null) {
    const { title, body } = push.unreadable;
    return { title, options: { ...look, body, tag: 'unreadable', data: { id: null } } };
  }
  const { id, title, body, data, severity, createdAt } = message;
  const timestamp = Date.parse(createdAt);
  return {
    title: inWrittenOrder(title),
    options: {
      ...look,
      body: inWrittenOrder(body === '' ? summary(data) : body),
      tag: id,
      data: { id },
      ...(!Number.isNaN(timestamp) && { timestamp }),
      ...(severity === 'critical' && { requireInteraction: true, vibrate: alarm }),
      ...(isInfoSilent && isQuiet(message) && { silent: true }),
    },
  };
}

/** Without a severity people expect to hear it, advertising aside. */
function isQuiet({ severity, category }: PushMessage): boolean {
  return severity === 'info' || (severity === null && category === 'promo');
}

function parse(text: string | undefined): PushMessage | null {
  try {
    const message: unknown = JSON.parse(text ?? '');
    return isMessage(message) ? message : null;
  } catch {
    return null;
  }
}

function isMessage(value: unknown): value is PushMessage {
  if (typeof value !== 'object' || value === null) return false;
  const { id, title, body } = value as Partial<PushMessage>;
  return typeof id === 'string' && typeof title === 'string' && typeof body === 'string';
}

/** The first plain values, a line each. What is nested is for the inbox. */
function summary(data: unknown): string {
  if (typeof data !== 'object' || data === null) return '';
  return Object.entries(data)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .slice(0, mostPairs)
    .map(([name, value]) => `${name}: ${cut(String(value))}`)
    .join('\n');
}

function cut(value: string): string {
  const characters = Array.from(value);
  return characters.length <= mostValueLength ? value : `${characters.slice(0, mostValueLength - 1).join('')}…`;
}
