// A push channel on stand-ins, with a clock that a test can set.

import type { NotificationContent } from '@tocsin/contract';
import type { PushConfig } from '../../gateway/src/channels/push/config.ts';
import { createPushSender, type PushDeps } from '../../gateway/src/channels/push/sender.ts';
import { createVapidKeys, parseVapidKeys } from '../../gateway/src/channels/push/vapid.ts';
import type { OpenChannel } from '../../gateway/src/core/channel.ts';
import type { Notification } from '../../gateway/src/core/notification.ts';
import type { Outcome } from '../../gateway/src/core/outcome.ts';
import type { PushTarget } from '../../gateway/src/core/recipients.ts';
import { WebPushStandIn } from './push-web-push-stand-in.ts';

export interface TestPush {
  channel: OpenChannel<PushTarget>;
  clock: { now: number };
  webPush: WebPushStandIn;
  /** Ids of the targets that the channel had disabled. */
  disabled: string[];
  send(targets: readonly PushTarget[], options?: SendOptions): Promise<readonly Outcome[]>;
}

export interface SendOptions {
  content?: Partial<NotificationContent>;
  signal?: AbortSignal;
}

export const sampleNotification: Notification = {
  id: '019c1e5f-6d2a-7c3e-8b4d-5a6f7e8d9c0b',
  ownerId: 'own_1',
  createdAt: Date.parse('2026-11-15T12:00:00Z'),
  content: {
    title: 'Backup failed',
    body: 'Disk /dev/sda1 is full – 日本語 🚨',
    source: 'cron',
    category: 'task',
    severity: 'critical',
    data: { host: 'db-1', attempts: 3 },
  },
};

export function createTestPush(
  config: Partial<PushConfig> = {},
  parts: Partial<PushDeps> = {},
  clock = { now: sampleNotification.createdAt },
): TestPush {
  const vapid = parseVapidKeys(createVapidKeys());
  const webPush = new WebPushStandIn(clock, vapid.publicKey);
  const disabled: string[] = [];
  const channel = createPushSender(
    { timeoutMs: 5000, webPushSubject: 'mailto:ops@example.com', webPushHosts: [], fcm: null, apns: null, ...config },
    {
      vapid,
      dial: webPush.dial,
      disable: async (id) => {
        disabled.push(id);
      },
      now: () => clock.now,
      retentionDays: 90,
      ...parts,
    },
  );
  return {
    channel,
    clock,
    webPush,
    disabled,
    send: (targets, { content = {}, signal = AbortSignal.timeout(config.timeoutMs ?? 5000) } = {}) => {
      const notification = { ...sampleNotification, content: { ...sampleNotification.content, ...content } };
      return channel.send(notification, targets, { qos: 1, customBroker: null }, signal);
    },
  };
}

let count = 0;

export function target(provider: PushTarget['provider'], token: string): PushTarget {
  count += 1;
  return { id: `psh_${count}`, provider, token };
}

/** Tokens in a valid format that contain the given name. */
export function fcmToken(name: string): string {
  return `${name}:APA91b${'x'.repeat(40)}`;
}

export function apnsToken(digit: string): string {
  return digit.repeat(64);
}
