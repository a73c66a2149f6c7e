// Wires the public API of one process and opens its port.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import packageJson from '../../package.json' with { type: 'json' };
import { channels as definitions } from '../channels/registry.ts';
import type { Channels } from '../core/channel.ts';
import { createUuidV7Source } from '../core/uuid-v7.ts';
import { observeChannels, observeSaves } from '../delivery/observe.ts';
import { createApp } from '../http/app.ts';
import { createReceiveEvent } from '../http/event-requests.ts';
import { OwnerQuota } from '../http/owner-quota.ts';
import { createLimits } from '../http/rate-limits.ts';
import { createApiServer } from '../http/server.ts';
import { drain, listen } from '../process/listen.ts';
import { type AcceptDeps, createAccept } from '../usecases/accept.ts';
import { createDirectory } from '../usecases/directory.ts';
import { createIdempotency } from '../usecases/idempotency.ts';
import { createReceiver } from '../usecases/receive-event.ts';
import { watchDescriptors } from './descriptor-watch.ts';
import { type Runtime, serverMaker, transportHeaders } from './runtime.ts';

/** Returns the URL of the listener. */
export async function openApi(runtime: Runtime, channels: Channels): Promise<string> {
  const { config, log, opened, lifecycle } = runtime;
  opened.defer(watchDescriptors(log.descriptorsExhausted), 'descriptor watch');
  await lifecycle.queues.watch();
  // Queued notifications are sent in the order of their ids, so new ids sort after them even if the clock was set back.
  const after = await runtime.store.deliveries.newestWaiting().catch(log.redeliveryFailed);
  const newId = createUuidV7Source(Date.now, randomUUID, after ?? null);
  const api = opened.adopt(createApi(runtime, channels, newId), drain, 'requests');
  return listen(api, config.host, config.port, 'TOCSIN_PORT');
}

function createApi(runtime: Runtime, channels: Channels, newId: () => string): Server {
  const { config, log, opened, parser, store, storeHealth, lifecycle, observability } = runtime;
  const { requestLog, deliveryObserver, aroundRequests, onRefused } = observability;
  const directory = createDirectory(storeHealth.watchDirectory(store), () => performance.now());
  store.changes.listen(directory.changed);
  const newRequestId = createRequestIdSource();
  const isConfigured = (channel: string): boolean => (config.channels.get(channel) ?? null) !== null;
  const isAlone = config.workers === 1 && config.databaseUrl === null;
  const sharedLimits = isAlone ? null : { counts: store.limits, onChange: log.limitsShared };
  const quota = opened.adopt(
    new OwnerQuota({ limits: config.quota, counts: store.limits, onFailed: log.quotaNotCounted }),
    (each) => each.close(),
    'quota',
  );
  const limits = createLimits(config.rateLimit, sharedLimits);
  const { trustedProxies } = config;
  const acceptDeps: AcceptDeps = {
    notifications: observeSaves(storeHealth.watchSaves(store.notifications), deliveryObserver),
    directory,
    ...{ definitions, isConfigured },
    channels: observeChannels(channels, definitions, 'first', deliveryObserver),
    lifecycle,
    responseBudgetMs: config.responseBudgetMs,
    newId,
    now: Date.now,
    onStoreFailure: log.storeFailed,
  };
  const receiver = opened.adopt(
    createReceiver({
      ...acceptDeps,
      idempotency: store.idempotency,
      onPresetFailed: log.presetFailed,
      onDeliveryFailed: log.redeliveryFailed,
    }),
    (each) => each.close(),
    'events',
  );
  const authenticator = { directory, signatures: store.signatures, limits, now: Date.now };
  const { version } = packageJson;
  const app = createApp({
    quota,
    accept: createAccept(acceptDeps),
    receiveEvent: createReceiveEvent({ authenticator, receiver, quota, trustedProxies, version }),
    idempotency: createIdempotency({ definitions, isConfigured, store, now: Date.now }),
    authenticator,
    parser,
    trustedProxies,
    maxBodyBytes: config.maxBodyBytes,
    version,
    channels: definitions.map(({ name }) => name),
    transportHeaders: transportHeaders(runtime),
    newRequestId,
    now: Date.now,
    log: requestLog,
  });
  return createApiServer({
    app: aroundRequests(app),
    newRequestId,
    onRefused,
    ...serverMaker(runtime),
  });
}

/** Unique across processes and restarts, and cheap: a random prefix and a counter. */
function createRequestIdSource(): () => string {
  const start = randomBytes(9).toString('base64url');
  let count = 0;
  return () => {
    count += 1;
    return `req_${start}${count.toString(36)}`;
  };
}
