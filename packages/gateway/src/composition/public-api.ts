// The public API of one process, from its parts to a port.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import packageJson from '../../package.json' with { type: 'json' };
import { createUuidV7Source } from '../core/uuid-v7.ts';
import { observeChannels, observeSaves } from '../delivery/observe.ts';
import { createApp } from '../http/app.ts';
import { OwnerQuota } from '../http/owner-quota.ts';
import { createLimits } from '../http/rate-limits.ts';
import { createApiServer } from '../http/server.ts';
import { drain, listen } from '../process/listen.ts';
import { createAccept } from '../usecases/accept.ts';
import { createDirectory } from '../usecases/directory.ts';
import { createIdempotency } from '../usecases/idempotency.ts';
import type { Channels } from '../usecases/ports/index.ts';
import { watchDescriptors } from './descriptor-watch.ts';
import { type Foundation, serverMaker, transportHeaders } from './runtime.ts';

/** Says where it listens. */
export async function openApi(foundation: Foundation, channels: Channels): Promise<string> {
  const { config, log, opened, followUp } = foundation;
  opened.defer(watchDescriptors(log.descriptorsExhausted), 'descriptor watch');
  await followUp.queues.watch();
  // What waits is sent in the order of ids: new ones go behind it, also if the clock was set back before the start.
  const after = await foundation.store.deliveries.newestWaiting().catch(log.redeliveryFailed);
  const newId = createUuidV7Source(Date.now, randomUUID, after ?? null);
  const api = opened.adopt(createApi(foundation, channels, newId), drain, 'requests');
  return listen(api, config.host, config.port, 'TOCSIN_PORT');
}

function createApi(foundation: Foundation, channels: Channels, newId: () => string): Server {
  const { config, log, opened, store, storeHealth, followUp, observability } = foundation;
  const { requestLog, deliveryObserver, aroundRequests, onRefused } = observability;
  const directory = createDirectory(storeHealth.watchDirectory(store), () => performance.now());
  store.changes.listen(directory.changed);
  const newRequestId = createRequestIdSource();
  const isAlone = config.workers === 1 && config.databaseUrl === null;
  const sharedLimits = isAlone ? null : { counts: store.limits, onChange: log.limitsShared };
  const quota = opened.adopt(
    new OwnerQuota({ limits: config.quota, counts: store.limits, onFailed: log.quotaNotCounted }),
    (each) => each.close(),
    'quota',
  );
  const app = createApp({
    quota,
    accept: createAccept({
      notifications: observeSaves(storeHealth.watchSaves(store.notifications), deliveryObserver),
      directory,
      channels: observeChannels(channels, 'first', deliveryObserver),
      followUp,
      responseBudgetMs: config.responseBudgetMs,
      newId,
      now: Date.now,
      onStoreFailure: log.storeFailed,
    }),
    idempotency: createIdempotency({ store, now: Date.now }),
    authenticator: {
      directory,
      signatures: store.signatures,
      limits: createLimits(config.rateLimit, sharedLimits),
      now: Date.now,
    },
    addressPolicy: { allowed: config.customBrokerAllow },
    trustedProxies: config.trustedProxies,
    maxBodyBytes: config.maxBodyBytes,
    version: packageJson.version,
    transportHeaders: transportHeaders(foundation),
    newRequestId,
    now: Date.now,
    log: requestLog,
  });
  return createApiServer({
    app: aroundRequests(app),
    newRequestId,
    onRefused,
    ...serverMaker(foundation),
  });
}

/** Unique across processes and restarts, and cheap: a random start, then counted. */
function createRequestIdSource(): () => string {
  const start = randomBytes(9).toString('base64url');
  let count = 0;
  return () => {
    count += 1;
    return `req_${start}${count.toString(36)}`;
  };
}
