// The push channel: every target goes to its provider, all at once.
import type { PushConfig } from '../../config/channels.ts';
import { createDeadline, type Deadline } from '../../core/deadline.ts';
import type { NotSent, Outcome } from '../../core/outcome.ts';
import type { PushTarget } from '../../core/plan.ts';
import type { ManagedChannel, Notification } from '../../usecases/ports/index.ts';
import { orAbort } from './abort.ts';
import { createApns } from './apns.ts';
import { mapConcurrently } from './concurrency.ts';
import { createFcm } from './fcm.ts';
import { Failure, type PushProvider, type SendTo } from './provider.ts';
import type { VapidKeys } from './vapid.ts';
import { createWebPush } from './web-push.ts';
import type { WebPushDial } from './web-push-dial.ts';

export { createVapidKeys, parseVapidKeys, type VapidKeys } from './vapid.ts';
export type { WebPushDial } from './web-push-dial.ts';

export interface PushParts {
  vapid: VapidKeys;
  dial: WebPushDial;
  /** The provider says that the target is no more. Its own failures are its own to log. */
  disable(targetId: string): Promise<void>;
  now(): number;
  retentionDays: number;
  /** Push services besides the known ones: names, or `*.` and an ending, each with a port where it is not 443. */
  webPushHosts?: readonly string[];
  /** Certificate authority for FCM and APNs in PEM form, instead of those that Node knows. */
  ca?: string;
}

type Providers = Record<PushTarget['provider'], PushProvider | null>;

/** Targets of one notification that are told at the same moment; HTTP/2 and push services cope with far more. */
const concurrency = 50;

const notConfigured: Record<PushTarget['provider'], NotSent> = {
  webpush: { kind: 'rejected', reason: 'not_configured', error: 'Web Push is not configured' },
  fcm: { kind: 'rejected', reason: 'not_configured', error: 'FCM is not configured: set TOCSIN_FCM_CREDENTIALS' },
  apns: { kind: 'rejected', reason: 'not_configured', error: 'APNs is not configured: set TOCSIN_APNS_KEY' },
};

export function createPushChannel(config: PushConfig, parts: PushParts): ManagedChannel<PushTarget> {
  const providers = createProviders(config, parts);
  const all = Object.values(providers).filter((provider) => provider !== null);
  const disabling = new Set<Promise<void>>();

  function disable({ id }: PushTarget): void {
    // The next notification would find the target gone again, so a failure here costs no more than that.
    const done: Promise<void> = Promise.try(() => parts.disable(id))
      .catch(() => undefined)
      .finally(() => disabling.delete(done));
    disabling.add(done);
  }

  return {
    async send(notification, targets, _options, signal) {
      using deadline = createDeadline(config.timeoutMs, signal);
      const sendTo = createSenders(notification);
      return await mapConcurrently(targets, concurrency, async (target) => {
        const outcome = await tell(target, providers[target.provider], sendTo, deadline);
        if (outcome.kind === 'gone') disable(target);
        return outcome;
      });
    },

    async check() {
      using deadline = createDeadline(config.timeoutMs);
      const problems = await Promise.all(all.map((provider) => problemOf(provider, deadline)));
      return problems.filter((problem) => problem !== null).join('; ') || null;
    },

    async close() {
      await Promise.all(all.map((provider) => provider.close()));
      await Promise.all(disabling);
    },
  };
}

function createProviders(config: PushConfig, parts: PushParts): Providers {
  const { vapid, dial, now, retentionDays, webPushHosts: hosts = [], ca } = parts;
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

async function tell(
  target: PushTarget,
  provider: PushProvider | null,
  sendTo: (provider: PushProvider) => SendTo,
  deadline: Deadline,
): Promise<Outcome> {
  if (provider === null) return notConfigured[target.provider];
  if (deadline.signal.aborted) {
    return { kind: 'retry', reason: 'not_attempted', error: `${provider.name}: time was up before this target's turn` };
  }
  try {
    return await orAbort(sendTo(provider)(target.token, deadline.signal), deadline.signal);
  } catch (error) {
    return toOutcome(provider, error, deadline);
  }
}

async function problemOf(provider: PushProvider, deadline: Deadline): Promise<string | null> {
  try {
    await orAbort(provider.check(deadline.signal), deadline.signal);
    return null;
  } catch (error) {
    return toOutcome(provider, error, deadline).error;
  }
}

function toOutcome({ name }: PushProvider, error: unknown, deadline: Deadline): NotSent {
  if (error instanceof Failure) return error.outcome;
  if (deadline.isOver()) {
    return { kind: 'retry', reason: 'unreachable', error: `${name} did not answer in time` };
  }
  if (deadline.signal.aborted)
    return { kind: 'retry', reason: 'deferred', error: `${name} had not answered when the wait was called off` };
  // A fault of ours. Its message might quote a token, so only its kind is told.
  return {
    kind: 'retry',
    reason: 'deferred',
    error: `${name}: sending failed (${(error as Error)?.name ?? 'unknown error'})`,
  };
}
