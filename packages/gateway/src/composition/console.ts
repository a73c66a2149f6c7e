// Wires the console of one process: first health and metrics, then the API of the inbox once the channels exist.

import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import packageJson from '../../package.json' with { type: 'json' };
import type { EmbeddedBroker } from '../channels/mqtt/embedded/index.ts';
import { mqttSettingsOf } from '../channels/mqtt/index.ts';
import { type ChannelSet, channels as definitions } from '../channels/registry.ts';
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
import { createUuidV7Source } from '../core/uuid-v7.ts';
import { observeChannels, observeSaves } from '../delivery/observe.ts';
import { clientAddress, isTrusted } from '../http/client-address.ts';
import { markAuthenticated } from '../http/connection-guard.ts';
import { drain } from '../process/listen.ts';
import { createProcess, type Process } from '../usecases/accept.ts';
import { systemEnvironment } from '../usecases/registration.ts';
import { createAccountMailer } from './account-mailer.ts';
import { type Runtime, serverMaker, transportHeaders } from './runtime.ts';
import { openWebPush } from './web-push.ts';

export async function openConsole(
  runtime: Runtime,
  readiness: Readiness,
  source: MetricsSource,
): Promise<FastifyInstance> {
  const { config, log, opened, store } = runtime;
  const isLegacy = await store.isLegacy();
  for (const warning of legacyWarnings(config, isLegacy)) log.legacyWarning(warning);
  const app = createConsole({
    readiness,
    metrics: { source, token: config.metricsToken },
    isKnownHost: knownHosts(config, isLegacy, log.unknownHost),
    transportHeaders: transportHeaders(runtime),
    ...serverMaker(runtime),
  });
  const close = async (each: FastifyInstance, signal: AbortSignal): Promise<void> => {
    await drain(each.server, signal);
    await each.close();
  };
  return opened.adopt(app, close, 'console');
}

export interface ConsoleContext {
  channels: ChannelSet;
  /** True with the embedded broker, which records when devices were last connected. */
  knowsLastSeen: boolean;
  /** Called only after all listeners are open. */
  listeners: AddressOptions['listeners'];
  stopping: AbortSignal;
}

/** Must be called before `app.ready()`. */
export async function addConsoleApi(
  app: FastifyInstance,
  runtime: Runtime,
  { channels, knowsLastSeen, listeners, stopping }: ConsoleContext,
): Promise<void> {
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
    oidc: config.oidc && createOidcProvider(config.oidc),
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
}

function knownHosts(config: Config, isLegacy: boolean, onUnknownName: (name: string) => void): IsKnownHost {
  return createKnownHosts({
    ...config.publicAddresses,
    isLegacy,
    isOverTls: (message) => isSecureMessage(message, { consoleUrl: null, isTrustedProxy: isTrustedProxy(config) }),
    onUnknownName,
  });
}

/** Returns a check whether a WebSocket was opened by a page of the console, under a known host name. */
export async function createIsConsolePage({
  config,
  store,
}: Pick<Runtime, 'config' | 'store'>): Promise<(message: IncomingMessage) => boolean> {
  const { consoleUrl } = config.publicAddresses;
  const options = { consoleUrl, isTrustedProxy: isTrustedProxy(config) };
  // Unknown names are not reported here: the console reports them when it serves the page.
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

/** Adds MQTT over WebSocket. */
export function addUpgrades({ server }: FastifyInstance, broker: Pick<EmbeddedBroker, 'handleUpgrade'>): void {
  server.on('upgrade', (request, socket, head) => {
    broker.handleUpgrade(request, socket, head, () => markAuthenticated(request));
  });
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
