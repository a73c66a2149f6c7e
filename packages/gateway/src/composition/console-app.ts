// Wires the app of the console: its pages and the API of the inbox.
import { randomBytes, randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import packageJson from '../../package.json' with { type: 'json' };
import { mqttSettingsOf } from '../channels/mqtt/index.ts';
import { type ChannelSet, channels as definitions } from '../channels/registry.ts';
import { type AddressOptions, createAddresses } from '../console/addresses.ts';
import { createConsoleApp } from '../console/app.ts';
import { addApi } from '../console/routes.ts';
import { addWebApp } from '../console/web-app.ts';
import { dayMs } from '../core/duration.ts';
import { createUuidV7Source } from '../core/uuid-v7.ts';
import { observeChannels, observeSaves } from '../delivery/observe.ts';
import { clientAddress } from '../http/client-address.ts';
import { createProcess, type Process } from '../usecases/accept.ts';
import { systemEnvironment } from '../usecases/registration.ts';
import { createAccountMailer } from './account-mailer.ts';
import { isTrustedProxy } from './console-proxy.ts';
import type { Runtime } from './runtime.ts';
import { openWebPush } from './web-push.ts';

export interface ConsoleContext {
  channels: ChannelSet;
  /** True with the embedded broker, which records when devices were last connected. */
  knowsLastSeen: boolean;
  /** Called only after all listeners are open. */
  listeners: AddressOptions['listeners'];
  stopping: AbortSignal;
}

/** Returns the app ready for requests, on the server of the console. */
export async function openConsoleApp(
  runtime: Runtime,
  { channels, knowsLastSeen, listeners, stopping }: ConsoleContext,
): Promise<FastifyInstance> {
  const { config, log, store } = runtime;
  const mqtt = mqttSettingsOf(config.channels);
  const webPush = await openWebPush(runtime);
  const newCookieKey = (): string => randomBytes(32).toString('base64url');
  const addresses = createAddresses({
    ...config.publicAddresses,
    devices: { publicAddresses: config.publicAddresses, mqtt },
    listeners,
    isTrustedProxy: isTrustedProxy(config),
  });
  const app = createConsoleApp();
  addWebApp(app, addresses);
  addApi(app, {
    store,
    now: Date.now,
    environment: systemEnvironment,
    addresses,
    definitions,
    process: createOwnProcess(runtime, channels),
    clientAddress: ({ raw }: FastifyRequest) => clientAddress(raw, config.trustedProxies),
    mailer: createAccountMailer(channels),
    oidc: config.oidc && (await import('../console/sign-in/oidc-provider.ts')).createOidcProvider(config.oidc),
    cookieKey: Buffer.from(await store.secrets.obtain('console_cookies', newCookieKey), 'base64url'),
    webPushProblem: webPush.problemOf,
    topicPrefix: mqtt.topicPrefix,
    service: {
      version: packageJson.version,
      webPushKey: webPush.publicKey,
      retentionDays: config.retentionDays,
      knowsLastSeen,
      channels: definitions.map(({ name, label }) => ({ name, label })),
    },
    sessionMaxMs: config.sessionMaxDays * dayMs,
    stopping,
    onError: (error, { id }) => log.failed({ requestId: `console-${id}`, error }),
    onEmailFailed: log.accountEmailFailed,
    onOidcFailed: log.oidcFailed,
  });
  await app.ready();
  return app;
}

function createOwnProcess(
  { config, log, store, storeHealth, lifecycle, observability: { deliveryObserver } }: Runtime,
  { channels }: ChannelSet,
): Process {
  return createProcess({
    notifications: observeSaves(storeHealth.watchSaves(store.notifications), deliveryObserver),
    channels: observeChannels(channels, definitions, 'first', deliveryObserver),
    lifecycle,
    responseBudgetMs: config.responseBudgetMs,
    newId: createUuidV7Source(Date.now, randomUUID),
    now: Date.now,
    onStoreFailure: log.storeFailed,
  });
}
