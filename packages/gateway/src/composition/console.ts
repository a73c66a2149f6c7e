// Wires the console of one process: the server with health, readiness and metrics. `console-app.ts` wires its app.
import type { IncomingMessage, Server } from 'node:http';
import type { EmbeddedBroker } from '../channels/mqtt/embedded/index.ts';
import { legacyWarnings } from '../config/legacy-warnings.ts';
import type { Config } from '../config/server.ts';
import { isSecureMessage } from '../console/addresses.ts';
import { createKnownHosts, type IsKnownHost } from '../console/known-hosts.ts';
import type { MetricsSource } from '../console/metrics-probe.ts';
import type { Readiness } from '../console/readiness.ts';
import { isOwnOrigin } from '../console/same-origin.ts';
import { createConsoleServer } from '../console/server.ts';
import { markAuthenticated } from '../http/connection-guard.ts';
import { drain } from '../process/listen.ts';
import type { ConsoleContext } from './console-app.ts';
import { isTrustedProxy } from './console-proxy.ts';
import { type Runtime, serverMaker, transportHeaders } from './runtime.ts';

export interface Console {
  server: Server;
  /** Must be called before the server listens. */
  addApp(context: ConsoleContext): void;
}

/** Opens the server with its probes. The app is loaded when the first request needs it. */
export async function openConsole(runtime: Runtime, readiness: Readiness, source: MetricsSource): Promise<Console> {
  const { config, log, opened, store } = runtime;
  const isLegacy = await store.isLegacy();
  for (const warning of legacyWarnings(config, isLegacy)) log.legacyWarning(warning);
  let context: ConsoleContext | null = null;
  let closeApp = async (): Promise<void> => undefined;
  const server = createConsoleServer({
    readiness,
    metrics: { source, token: config.metricsToken },
    isKnownHost: knownHosts(config, isLegacy, log.unknownHost),
    transportHeaders: transportHeaders(runtime),
    openApp: async () => {
      if (context === null) throw new Error('The console has no app.');
      const { openConsoleApp } = await import('./console-app.ts');
      const app = await openConsoleApp(runtime, context);
      closeApp = () => app.close();
      return app.routing;
    },
    onError: (error) => log.failed({ requestId: 'console', error }),
    ...serverMaker(runtime),
  });
  const close = async (_server: Server, signal: AbortSignal): Promise<void> => {
    await drain(server, signal);
    await closeApp();
  };
  opened.adopt(server, close, 'console');
  return {
    server,
    addApp: (given) => {
      context = given;
    },
  };
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

/** Adds MQTT over WebSocket. */
export function addUpgrades({ server }: Console, broker: Pick<EmbeddedBroker, 'handleUpgrade'>): void {
  server.on('upgrade', (request, socket, head) => {
    broker.handleUpgrade(request, socket, head, () => markAuthenticated(request));
  });
}
