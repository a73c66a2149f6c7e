// The console of one process: health and metrics at once, and the API behind the inbox once there are channels.

import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import packageJson from '../../package.json' with { type: 'json' };
import type { EmbeddedBroker } from '../channels/mqtt/embedded/index.ts';
import { createVapidKeys, parseVapidKeys } from '../channels/push/index.ts';
import { tokenProblem } from '../channels/push/token.ts';
import type { ChannelSet } from '../channels/registry.ts';
import { legacyWarnings } from '../config/legacy-warnings.ts';
import type { Config } from '../config/server.ts';
import { type AddressOptions, createAddresses, isSecureMessage } from '../console/addresses.ts';
import { createKnownHosts, type IsKnownHost } from '../console/known-hosts.ts';
import type { MetricsSource } from '../console/metrics-route.ts';
import type { Readiness } from '../console/readiness.ts';
import { addApi } from '../console/routes.ts';
import { isOwnOrigin } from '../console/same-origin.ts';
import { createConsole } from '../console/server.ts';
import { createOidcProvider } from '../console/sign-in/oidc-provider.ts';
import { addWebApp } from '../console/web-app.ts';
import { dayMs } from '../core/duration.ts';
import type { Recipients } from '../core/plan.ts';
import { createUuidV7Source } from '../core/uuid-v7.ts';
import { observeChannels, observeSaves } from '../delivery/observe.ts';
import { clientAddress, isTrusted } from '../http/client-address.ts';
import { markAuthenticated } from '../http/connection-guard.ts';
import { drain } from '../process/listen.ts';
import { type Accept, createAccept } from '../usecases/accept.ts';
import { systemMakers } from '../usecases/registration.ts';
import { createAccountMailer } from './account-mailer.ts';
import { type Foundation, serverMaker, transportHeaders } from './runtime.ts';

export async function openConsole(
  foundation: Foundation,
  readiness: Readiness,
  source: MetricsSource,
): Promise<FastifyInstance> {
  const { config, log, opened, store } = foundation;
  const isLegacy = await store.isLegacy();
  for (const warning of legacyWarnings(config, isLegacy)) log.legacyWarning(warning);
  const app = createConsole({
    readiness,
    metrics: { source, token: config.metricsToken },
    isKnownHost: knownHosts(config, isLegacy, log.unknownHost),
    transportHeaders: transportHeaders(foundation),
    ...serverMaker(foundation),
  });
  const close = async (each: FastifyInstance, signal: AbortSignal): Promise<void> => {
    await drain(each.server, signal);
    await each.close();
  };
  return opened.adopt(app, close, 'console');
}

export interface ConsoleSurroundings {
  channels: ChannelSet;
  /** Devices use the broker inside, so that we know when they were last seen. */
  knowsLastSeen: boolean;
  /** Asked only once they are all there. */
  listeners: AddressOptions['listeners'];
  stopping: AbortSignal;
}

/** To be called before the app is made ready. */
export async function addConsoleApi(
  app: FastifyInstance,
  foundation: Foundation,
  { channels, knowsLastSeen, listeners, stopping }: ConsoleSurroundings,
): Promise<void> {
  const { config, log, store } = foundation;
  const vapid = parseVapidKeys(await store.secrets.obtain('webpush_vapid', createVapidKeys));
  const newCookieKey = (): string => randomBytes(32).toString('base64url');
  const addresses = createAddresses({
    ...config.publicAddresses,
    devices: config,
    listeners,
    isTrustedProxy: isTrustedProxy(config),
  });
  addWebApp(app, addresses);
  addApi(app, {
    store,
    now: Date.now,
    makers: systemMakers,
    addresses,
    acceptFor: acceptForSome(foundation, channels),
    clientAddress: ({ raw }: FastifyRequest) => clientAddress(raw, config.trustedProxies),
    mailer: channels.managed.email && createAccountMailer(channels.managed.email),
    oidc: config.oidc && createOidcProvider(config.oidc),
    cookieKey: Buffer.from(await store.secrets.obtain('console_cookies', newCookieKey), 'base64url'),
    webPushProblem: (subscription) => tokenProblem('webpush', subscription, config.push.webPushHosts),
    topicPrefix: config.mqtt.topicPrefix,
    service: {
      version: packageJson.version,
      webPushKey: vapid.publicKey,
      retentionDays: config.retentionDays,
      knowsLastSeen,
    },
    sessionMaxMs: config.sessionMaxDays * dayMs,
    stopping,
    onError: (error, { id }) => log.failed({ requestId: `console-${id}`, error }),
    onEmailFailed: log.signInMailFailed,
    onOidcFailed: log.oidcFailed,
  });
}

function knownHosts(config: Config, isLegacy: boolean, onUnknownName: (name: string) => void): IsKnownHost {
  return createKnownHosts({
    ...config.publicAddresses,
    isLegacy,
    isOverTls: (message) => isSecureMessage(message, { consoleUrl: null, isTrustedProxy: isTrustedProxy(config) }),
    onUnknownName,
  });
}

/** Whether a WebSocket was opened by a page of the console, under a name that the console answers to. */
export async function createIsConsolePage({
  config,
  store,
}: Pick<Foundation, 'config' | 'store'>): Promise<(message: IncomingMessage) => boolean> {
  const { consoleUrl } = config.publicAddresses;
  const options = { consoleUrl, isTrustedProxy: isTrustedProxy(config) };
  // The console reports unknown names, when it serves the page.
  const isKnownHost = knownHosts(config, await store.isLegacy(), () => undefined);
  return (message) => {
    const { origin = '', host } = message.headers;
    if (origin === consoleUrl) return true;
    return (
      isKnownHost(message) && isOwnOrigin(origin, { host, consoleUrl, isSecure: isSecureMessage(message, options) })
    );
  };
}

function isTrustedProxy({ trustedProxies }: Config): (message: IncomingMessage) => boolean {
  return ({ socket }) => isTrusted(socket.remoteAddress ?? '', trustedProxies);
}

/** MQTT over WebSocket. */
export function addUpgrades({ server }: FastifyInstance, broker: Pick<EmbeddedBroker, 'handleUpgrade'>): void {
  server.on('upgrade', (request, socket, head) => {
    broker.handleUpgrade(request, socket, head, () => markAuthenticated(request));
  });
}

/** The accept path of the public API, with recipients of its own. */
function acceptForSome(
  { config, log, store, storeHealth, followUp, observability: { deliveryObserver } }: Foundation,
  { channels }: ChannelSet,
): (recipients: Recipients) => Accept {
  const parts = {
    notifications: observeSaves(storeHealth.watchSaves(store.notifications), deliveryObserver),
    channels: observeChannels(channels, 'first', deliveryObserver),
    followUp,
    responseBudgetMs: config.responseBudgetMs,
    newId: createUuidV7Source(Date.now, randomUUID),
    now: Date.now,
    onStoreFailure: log.storeFailed,
  };
  return (recipients) => createAccept({ ...parts, directory: { recipientsOf: async () => recipients } });
}
