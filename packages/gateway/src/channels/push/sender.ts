// Sends push messages: all targets at once, each through its provider.

import type { OpenChannel } from '../../core/channel.ts';
import { createDeadline, isTimeout } from '../../core/deadline.ts';
import type { Notification } from '../../core/notification.ts';
import type { NotSent, Outcome } from '../../core/outcome.ts';
import type { PushTarget } from '../../core/recipients.ts';
import { orAbort } from './abort.ts';
import { createApns } from './apns.ts';
import { mapConcurrently } from './concurrency.ts';
import type { PushConfig } from './config.ts';
import { createFcm } from './fcm.ts';
import { Failure, type PushProvider, type SendTo } from './provider.ts';
import type { VapidKeys } from './vapid.ts';
import { createWebPush } from './web-push.ts';
import type { WebPushDial } from './web-push-dial.ts';

export interface PushDeps {
  vapid: VapidKeys;
  dial: WebPushDial;
  /** Called when the provider reports that the target no longer exists. It logs its own failures. */
  disable(targetId: string): Promise<void>;
  now(): number;
  retentionDays: number;
  /** Push services in addition to the known ones: names, or `*.` and a suffix, each with a port unless it is 443. */
  webPushHosts?: readonly string[];
  /** Certificate authority for FCM and APNs in PEM form, instead of those that Node trusts. */
  ca?: string;
}

type Providers = Record<PushTarget['provider'], PushProvider | null>;

/** Targets of one notification that are sent to at once; HTTP/2 and push services allow far more. */
const concurrency = 50;

const notConfigured: Record<PushTarget['provider'], NotSent> = {
  webpush: { kind: 'rejected', reason: 'not_configured', error: 'Web Push is not configured' },
  fcm: { kind: 'rejected', reason: 'not_configured', error: 'FCM is not configured: set TOCSIN_FCM_CREDENTIALS' },
  apns: { kind: 'rejected', reason: 'not_configured', error: 'APNs is not configured: set TOCSIN_APNS_KEY' },
};

export function createPushSender(config: PushConfig, deps: PushDeps): OpenChannel<PushTarget> {
  const providers = createProviders(config, deps);
  const all = Object.values(providers).filter((provider) => provider !== null);
  const disabling = new Set<Promise<void>>();

  function disable({ id }: PushTarget): void {
    // If this fails, the next notification finds the target gone again.
    const done: Promise<void> = Promise.try(() => deps.disable(id))
      .catch(() => undefined)
      .finally(() => disabling.delete(done));
    disabling.add(done);
  }

  return {
    async send(notification, targets, _options, signal) {
      const sendTo = createSenders(notification);
      return await mapConcurrently(targets, concurrency, async (target) => {
        const outcome = await sendToTarget(target, providers[target.provider], sendTo, signal);
        if (outcome.kind === 'gone') disable(target);
        return outcome;
      });
    },

    async check() {
      using deadline = createDeadline(config.timeoutMs);
      const problems = await Promise.all(all.map((provider) => problemOf(provider, deadline.signal)));
      return problems.filter((problem) => problem !== null).join('; ') || null;
    },

    async close() {
      await Promise.all(all.map((provider) => provider.close()));
      await Promise.all(disabling);
    },
  };
}

function createProviders(config: PushConfig, deps: PushDeps): Providers {
  const { vapid, dial, now, retentionDays, webPushHosts: hosts = [], ca } = deps;
  const common = { timeoutMs: config.timeoutMs, retentionDays, now, ca };
  return {
    webpush: createWebPush({ vapid, subject: config.webPushSubject, dial, hosts, retentionDays, now }),
    fcm: config.fcm && createFcm(config.fcm, common),
    apns: config.apns && createApns(config.apns, common),
  };
}

/** Each provider formats the notification at most once. */
function createSenders(notification: Notification): (provider: PushProvider) => SendTo {
  const prepared = new Map<PushProvider, SendTo>();
  return (provider) => {
    const known = prepared.get(provider);
    if (known !== undefined) return known;
    const sendTo = provider.prepare(notification);
    prepared.set(provider, sendTo);
    return sendTo;
  };
}

async function sendToTarget(
  target: PushTarget,
  provider: PushProvider | null,
  sendTo: (provider: PushProvider) => SendTo,
  signal: AbortSignal,
): Promise<Outcome> {
  if (provider === null) return notConfigured[target.provider];
  if (signal.aborted) {
    return {
      kind: 'retry',
      reason: 'not_attempted',
      error: `${provider.name}: the deadline passed before this target was attempted`,
    };
  }
  try {
    return await orAbort(sendTo(provider)(target.token, signal), signal);
  } catch (error) {
    return toOutcome(provider, error, signal);
  }
}

async function problemOf(provider: PushProvider, signal: AbortSignal): Promise<string | null> {
  try {
    await orAbort(provider.check(signal), signal);
    return null;
  } catch (error) {
    return toOutcome(provider, error, signal).error;
  }
}

function toOutcome({ name }: PushProvider, error: unknown, signal: AbortSignal): NotSent {
  if (error instanceof Failure) return error.outcome;
  if (isTimeout(signal)) {
    return { kind: 'retry', reason: 'unreachable', error: `${name} did not respond in time` };
  }
  if (signal.aborted)
    return { kind: 'retry', reason: 'deferred', error: `${name} had not responded when the send was aborted` };
  // A bug. Its message might quote a token, so only its name is reported.
  return {
    kind: 'retry',
    reason: 'deferred',
    error: `${name}: sending failed (${(error as Error)?.name ?? 'unknown error'})`,
  };
}
