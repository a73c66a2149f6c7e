// What every process of the service stands on, whether it does everything or serves requests alone.
import packageJson from '../../package.json' with { type: 'json' };
import type { Config } from '../config/server.ts';
import { createFollowUp, type FollowUp } from '../delivery/dispatch-lifecycle.ts';
import { guardConnections, type ServerMaker } from '../http/connection-guard.ts';
import { createObservability, type Observability } from '../observability/index.ts';
import type { Log } from '../observability/log.ts';
import type { OrderlyStop } from '../process/shutdown.ts';
import { openTls, type Tls } from '../process/tls/index.ts';
import { makeFolder } from '../store/files/data-folder.ts';
import { lockDataFolder } from '../store/files/data-folder-lock.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../usecases/ports/index.ts';
import { StoreHealth } from '../usecases/store-health.ts';

export interface Foundation {
  config: Config;
  log: Log;
  /** What is opened later is closed earlier. */
  opened: OrderlyStop;
  observability: Observability;
  store: Store;
  storeHealth: StoreHealth;
  followUp: FollowUp;
  /** null: plain HTTP. */
  tls: Tls | null;
}

/** Says whether no other server can use the data directory now. With PostgreSQL several nodes are meant to share the data. */
export function lockData({ dataDir, databaseUrl }: Config, opened: OrderlyStop): boolean {
  if (databaseUrl !== null) return true;
  makeFolder(dataDir);
  const lock = lockDataFolder(dataDir, 'server');
  opened.defer(() => lock?.release(), 'lock');
  return lock !== null;
}

export async function layFoundation(
  config: Config,
  log: Log,
  opened: OrderlyStop,
  storeHealth = new StoreHealth(),
): Promise<Foundation> {
  const observability = opened.adopt(createObservability(config, packageJson.version, log), (each) => each.close());
  const { onBatch } = observability.metrics;
  const store = opened.adopt(
    await openStore(
      {
        ...config,
        onBatch,
        onMasterKeyMissing: log.masterKeyMissing,
        onNewerSchema: log.schemaIsNewer,
        onRowRefused: log.rowRefused,
        onFull: log.diskFull,
      },
      'create',
    ),
    (each) => each.close(),
    'store',
  );
  const followUp = createFollowUp({
    store,
    maxWaitingPerOwner: config.maxWaitingPerOwner,
    now: Date.now,
    random: Math.random,
    onFailed: log.redeliveryFailed,
    // Each push service is reported by its own breaker.
    onChannelState: (channel, state, cause) => {
      if (channel !== 'push') log.guardState(channel, state === 'down' ? 'open' : 'closed', cause);
    },
  });
  opened.adopt(followUp, (each) => each.close(), 'follow-up');
  const tls = await openCertificate(config, log, opened);
  return { config, log, opened, observability, store, storeHealth, followUp, tls };
}

async function openCertificate({ tls }: Config, log: Log, opened: OrderlyStop): Promise<Tls | null> {
  if (tls === null) return null;
  const notices = { onLoaded: log.certificateLoaded, onKept: log.certificateKept };
  return opened.adopt(await openTls(tls, notices), (each) => each.close());
}

/** For both listeners: over TLS where there is a certificate, with connections that are guarded. */
export function serverMaker({ tls, config, observability }: Foundation): { createServer: ServerMaker } {
  return {
    createServer: guardConnections({
      ...(tls !== null && { createServer: tls.createServer }),
      unauthenticatedPerAddress: config.unauthenticatedConnections,
      trustedProxies: config.trustedProxies,
      onDisconnected: observability.onDisconnected,
    }),
  };
}

/** Browsers that came once over our own TLS stay with it for half a year. */
export function transportHeaders({ tls }: Pick<Foundation, 'tls'>): Record<string, string> {
  return tls === null ? {} : { 'Strict-Transport-Security': 'max-age=15552000' };
}
