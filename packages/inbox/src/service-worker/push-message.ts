// Converts a push message to the notification that the operating system shows. Pure.
import type { Category, Severity } from '@tocsin/contract/fields';
import { stripBidiControls } from '../inbox/text-direction.ts';
import type { BrowserSettings } from '../push/browser-settings.ts';
import { push } from '../text/en/push.ts';

/** The message of the gateway, which omits `data` and shortens texts if they exceed the size limit of Web Push. */
interface PushMessage {
  id: string;
  title: string;
  body: string;
  category: Category;
  severity: Severity | null;
  data?: Record<string, unknown>;
  createdAt: string;
}

/** Options that all systems support; browsers ignore options that they do not know. */
export interface ShownNotification {
  title: string;
  options: NotificationOptions & {
    data: { id: string | null };
    timestamp?: number;
    vibrate?: number[];
  };
}

const images = { icon: '/icon-192.png', badge: '/badge-96.png' };
const criticalVibration = [300, 120, 300, 120, 600];
const maxPairs = 4;
const maxValueLength = 60;

export function toNotification(text: string | undefined, { isInfoSilent }: BrowserSettings): ShownNotification {
  const message = parse(text);
  // Browsers revoke the permission of sites that show no notification for a push message.
  if (message === null) {
    const { title, body } = push.unreadable;
    return { title, options: { ...images, body, tag: 'unreadable', data: { id: null } } };
  }
  const { id, title, body, data, severity, createdAt } = message;
  const timestamp = Date.parse(createdAt);
  return {
    title: stripBidiControls(title),
    options: {
      ...images,
      body: stripBidiControls(body === '' ? summary(data) : body),
      tag: id,
      data: { id },
      ...(!Number.isNaN(timestamp) && { timestamp }),
      ...(severity === 'critical' && { requireInteraction: true, vibrate: criticalVibration }),
      ...(isInfoSilent && isSilent(message) && { silent: true }),
    },
  };
}

/** Notifications without a severity are audible, except promotions. */
function isSilent({ severity, category }: PushMessage): boolean {
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

/** The first scalar values, one per line. Nested values are shown in the inbox only. */
function summary(data: unknown): string {
  if (typeof data !== 'object' || data === null) return '';
  return Object.entries(data)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .slice(0, maxPairs)
    .map(([name, value]) => `${name}: ${truncate(String(value))}`)
    .join('\n');
}

function truncate(value: string): string {
  const characters = Array.from(value);
  return characters.length <= maxValueLength ? value : `${characters.slice(0, maxValueLength - 1).join('')}…`;
}
