// The push channel: Web Push, FCM and APNs.

import type { ChannelSettings, OpenChannel } from '../../core/channel.ts';
import type { PushTarget } from '../../core/recipients.ts';
import type { ChannelModule, ChannelTools } from '../module.ts';
import { defaultWebPushSubject, type PushConfig, readPushConfig } from './config.ts';
import type { PushDeps } from './sender.ts';
import { describePushTargets, providerNames, reportPush, resolvePushTarget } from './target.ts';

export const pushChannel: ChannelModule<PushTarget, PushConfig> = {
  name: 'push',
  label: 'Push',
  provider: 'The push service',
  breakers: providerNames,
  notConfigured: 'Push is not configured',
  guard: 'own',
  settings: readPushConfig,

  plan: ({ sendPush }, { pushTargets }) => ({
    channel: pushChannel,
    enabled: sendPush,
    targets: sendPush ? pushTargets : [],
    skipReason: null,
  }),
  planFromDispatch: ({ sendPush }) => ({ channel: pushChannel, enabled: sendPush, targets: [], skipReason: null }),
  resolve: resolvePushTarget,
  describe: describePushTargets,
  report: reportPush,

  async open(settings, { store, allowedNetworks, retentionDays, now, onBreakerState }) {
    const [{ createVapidKeys, parseVapidKeys }, { guardPerProvider }] = await Promise.all([
      import('./vapid.ts'),
      import('./per-provider.ts'),
    ]);
    const vapid = parseVapidKeys(await store.secrets.obtain('webpush_vapid', createVapidKeys));
    // Most installations have no subscription: the code that sends is loaded when there is one to send to.
    let opening: Promise<OpenChannel<PushTarget>> | null = null;
    const sender = (): Promise<OpenChannel<PushTarget>> => {
      opening ??= openSender(settings, {
        ...{ vapid, allowedNetworks, retentionDays, now },
        disable: (id) => store.pushTargets.disable(id, now()),
      });
      return opening;
    };
    const hasOwnProvider = settings.fcm !== null || settings.apns !== null;
    // A mistake of the operator is reported at the start, and not with the first notification.
    if (hasOwnProvider) await sender();
    return {
      ...guardPerProvider({ send: async (...args) => (await sender()).send(...args) }, (provider) => ({
        provider: provider === 'webpush' ? 'The push service' : providerNames[provider],
        timeoutMs: settings.timeoutMs,
        maxConcurrent: 100,
        // Web Push goes to a different host for each browser: one that is down says little about the others.
        failuresToOpen: provider === 'webpush' ? 50 : 5,
        onStateChange: (...change) => onBreakerState?.(provider, ...change),
      })),
      // Web Push has no provider of its own to ask.
      check: async () => (hasOwnProvider ? (await sender()).check() : null),
      close: async () => (await opening)?.close(),
    };
  },

  /** Push services write to this contact if something goes wrong; Apple's requires a real address. */
  async diagnose({ webPushSubject }, opened) {
    const problem = await opened.check();
    const ready = { state: 'ok', message: 'Web Push is ready; FCM and APNs where they are configured' } as const;
    const message = 'set TOCSIN_WEBPUSH_SUBJECT to your mailto: or https: address';
    return [
      problem === null ? ready : { state: 'failed', message: problem },
      ...(webPushSubject === defaultWebPushSubject ? [{ state: 'warning' as const, message }] : []),
    ];
  },
};

async function openSender(
  settings: PushConfig,
  { allowedNetworks, ...deps }: Omit<PushDeps, 'dial'> & Pick<ChannelTools, 'allowedNetworks'>,
): Promise<OpenChannel<PushTarget>> {
  const [{ createPushSender }, { createEgress }] = await Promise.all([
    import('./sender.ts'),
    import('../../egress/index.ts'),
  ]);
  const egress = createEgress({ allowed: allowedNetworks });
  const sender = createPushSender(settings, {
    ...deps,
    dial: async (url, request, signal) => {
      const { status, headers } = await egress.post(url, request, signal);
      return {
        status,
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      };
    },
    webPushHosts: settings.webPushHosts,
  });
  return {
    ...sender,
    close: async () => {
      await sender.close();
      egress.close();
    },
  };
}

/** Push always has settings: Web Push needs none of its own. */
export function pushSettingsOf(settings: ChannelSettings): PushConfig {
  return settings.get(pushChannel.name) as PushConfig;
}
