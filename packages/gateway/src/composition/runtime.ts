// What every process needs, whether it does everything or only serves requests: log, store, observability, TLS.
import packageJson from '../../package.json' with { type: 'json' };
import { channels } from '../channels/registry.ts';
import type { Config } from '../config/server.ts';
import { breakersOf } from '../core/channel.ts';
import { createDispatchLifecycle, type DispatchLifecycle } from '../delivery/dispatch-lifecycle.ts';
import { guardConnections, type ServerMaker } from '../http/connection-guard.ts';
import { createObservability, type Observability } from '../observability/index.ts';
import type { Log } from '../observability/log.ts';
import { Parser } from '../parsing/parser.ts';
import type { ShutdownStack } from '../process/shutdown.ts';
import type { Tls } from '../process/tls/index.ts';
import { makeFolder } from '../store/files/data-directory.ts';
import { lockDataDirectory } from '../store/files/data-directory-lock.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../usecases/ports/index.ts';
import { StoreHealth } from '../usecases/store-health.ts';

export interface Runtime {
  config: Config;
  log: Log;
  /** Closes in the reverse order of opening. */
  opened: ShutdownStack;
  observability: Observability;
  parser: Parser;
  store: Store;
  storeHealth: StoreHealth;
  lifecycle: DispatchLifecycle;
  /** null: plain HTTP. */
  tls: Tls | null;
}

/** Returns whether this server has the data directory to itself. With PostgreSQL, nodes share the data by design. */
export function lockData({ dataDir, databaseUrl }: Config, opened: ShutdownStack): boolean {
  if (databaseUrl !== null) return true;
  makeFolder(dataDir);
  const lock = lockDataDirectory(dataDir, 'server');
  opened.defer(() => lock?.release(), 'lock');
  return lock !== null;
}

export async function createRuntime(
  config: Config,
  log: Log,
  opened: ShutdownStack,
  storeHealth = new StoreHealth(),
): Promise<Runtime> {
  const observability = opened.adopt(await createObservability(config, packageJson.version, log), (each) =>
    each.close(),
  );
  const { onBatch } = observability.metrics;
  const parser = opened.adopt(new Parser({ allowed: config.customBrokerAllow }), (each) => each.close(), 'parser');
  const store = opened.adopt(
    await openStore(
      {
        ...config,
        onBatch,
        onMasterKeyMissing: log.masterKeyMissing,
        onNewerSchema: log.schemaIsNewer,
        onRowRefused: log.rowRefused,
        onFull: log.diskFull,
        parseContent: (plaintext) => parser.content(plaintext),
      },
      'create',
    ),
    (each) => each.close(),
    'store',
  );
  const lifecycle = createDispatchLifecycle({
    definitions: channels,
    store,
    maxWaitingPerOwner: config.maxWaitingPerOwner,
    now: Date.now,
    random: Math.random,
    onFailed: log.redeliveryFailed,
    // A channel with several providers reports each of them by its own breaker.
    onChannelState: (channel, state, cause) => {
      const isOneProvider = channels.some((each) => each.name === channel && channel in breakersOf(each));
      if (isOneProvider) log.guardState(channel, state === 'down' ? 'open' : 'closed', cause);
    },
  });
  opened.adopt(lifecycle, (each) => each.close(), 'dispatches');
  const tls = await openCertificate(config, log, opened);
  return { config, log, opened, observability, parser, store, storeHealth, lifecycle, tls };
}

async function openCertificate({ tls }: Config, log: Log, opened: ShutdownStack): Promise<Tls | null> {
  if (tls === null) return null;
  const { openTls } = await import('../process/tls/index.ts');
  const notices = { onLoaded: log.certificateLoaded, onKept: log.certificateKept };
  return opened.adopt(await openTls(tls, notices), (each) => each.close());
}

/** Creates the servers of both listeners: with TLS if there is a certificate, and with connection limits. */
export function serverMaker({ tls, config, observability }: Runtime): { createServer: ServerMaker } {
  return {
    createServer: guardConnections({
      ...(tls !== null && { createServer: tls.createServer }),
      unauthenticatedPerAddress: config.unauthenticatedConnections,
      trustedProxies: config.trustedProxies,
      onDisconnected: observability.onDisconnected,
    }),
  };
}

/** HSTS for half a year, if this process terminates TLS itself. */
export function transportHeaders({ tls }: Pick<Runtime, 'tls'>): Record<string, string> {
  return tls === null ? {} : { 'Strict-Transport-Security': 'max-age=15552000' };
}
