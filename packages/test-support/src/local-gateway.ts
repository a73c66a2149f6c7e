// The public API in this process, on a real store and a real socket, with a clock and channels that a test can set.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseRate } from '@tocsin/contract';
import { createNotConfigured, channels as definitions } from '../../gateway/src/channels/registry.ts';
import { parseNetwork } from '../../gateway/src/core/address-policy.ts';
import type { Channel, Channels, ChannelTarget } from '../../gateway/src/core/channel.ts';
import type { Outcome } from '../../gateway/src/core/outcome.ts';
import { createUuidV7Source } from '../../gateway/src/core/uuid-v7.ts';
import { createDispatchLifecycle, type DispatchLifecycle } from '../../gateway/src/delivery/dispatch-lifecycle.ts';
import { type AppParts, createApp } from '../../gateway/src/http/app.ts';
import { guardConnections, type ServerMaker } from '../../gateway/src/http/connection-guard.ts';
import { createReceiveEvent } from '../../gateway/src/http/event-requests.ts';
import { createLimits } from '../../gateway/src/http/rate-limits.ts';
import { createApiServer, type ServerTimeouts } from '../../gateway/src/http/server.ts';
import { Parser } from '../../gateway/src/parsing/parser.ts';
import { openStore } from '../../gateway/src/store/open-store.ts';
import { type AcceptDeps, createAccept } from '../../gateway/src/usecases/accept.ts';
import { createDirectory } from '../../gateway/src/usecases/directory.ts';
import { createIdempotency } from '../../gateway/src/usecases/idempotency.ts';
import type { Store } from '../../gateway/src/usecases/ports/index.ts';
import { createReceiver } from '../../gateway/src/usecases/receive-event.ts';
import { createKey, createOwner, systemEnvironment } from '../../gateway/src/usecases/registration.ts';

export interface LocalGateway {
  api: string;
  app: RequestListener;
  /** The data directory. */
  dataDir: string;
  store: Store;
  lifecycle: DispatchLifecycle;
  ownerId: string;
  key: string;
  clock: { now: number };
  /** Internal errors by the request ids of the responses. */
  failures: unknown[];
  stop(): Promise<void>;
}

export interface LocalOptions {
  /** Channels by name; the others are not configured. */
  channels?: Readonly<Record<string, Channel>>;
  rateLimit?: string;
  maxBodyBytes?: number;
  trustedProxies?: string[];
  timeouts?: ServerTimeouts;
  /** For TLS. */
  createServer?: ServerMaker;
  maxWaitingPerOwner?: number;
  responseBudgetMs?: number;
  /** Wraps the store that the API uses. */
  wrapStore?: (store: Store) => Store;
}

export async function startLocalGateway(options: LocalOptions = {}): Promise<LocalGateway> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
  const store = await openStore({ dataDir, masterKey: null }, 'create');
  const owner = await createOwner(store, systemEnvironment, { name: 'Test owner', email: null, emailAlerts: false });
  const { value: key } = await createKey(store, systemEnvironment, { ownerId: owner.id, type: 'public_client' });
  const clock = { now: Date.now() };
  const failures: unknown[] = [];
  const wrapped = options.wrapStore?.(store) ?? store;
  const lifecycle = createDispatchLifecycle({
    definitions,
    store: wrapped,
    maxWaitingPerOwner: options.maxWaitingPerOwner ?? 1000,
    now: () => clock.now,
    // The middle of every spread.
    random: () => 0.5,
    onFailed: (error) => failures.push(error),
  });
  const parts = appParts(wrapped, lifecycle, clock, options, failures);
  const app = createApp(parts);
  const { timeouts, createServer } = options;
  const server = createApiServer({
    ...parts,
    app,
    ...(timeouts && { timeouts }),
    createServer: guardConnections({
      ...(createServer && { createServer }),
      unauthenticatedPerAddress: 0,
      trustedProxies: [],
    }),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    api: `${createServer === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    app,
    dataDir,
    store,
    lifecycle,
    ownerId: owner.id,
    key,
    clock,
    failures,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await lifecycle.close();
      await store.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** All channels; those that are not given are not configured. */
export function channelsWith(given: Readonly<Record<string, Channel>> = {}): Channels {
  return new Map(
    definitions.map(({ name, notConfigured }) => [name, given[name] ?? createNotConfigured(notConfigured)]),
  );
}

function appParts(
  store: Store,
  lifecycle: DispatchLifecycle,
  clock: { now: number },
  options: LocalOptions,
  failures: unknown[],
): AppParts {
  const now = (): number => clock.now;
  const isConfigured = (channel: string): boolean => options.channels?.[channel] !== undefined;
  const directory = createDirectory(store, () => performance.now());
  const limits = createLimits(options.rateLimit === undefined ? null : (parseRate(options.rateLimit) ?? null));
  const trustedProxies = (options.trustedProxies ?? []).map(parseNetwork).filter((network) => network !== undefined);
  const acceptDeps: AcceptDeps = {
    notifications: store.notifications,
    directory,
    ...{ definitions, isConfigured },
    channels: channelsWith(options.channels),
    lifecycle,
    responseBudgetMs: options.responseBudgetMs ?? 3000,
    newId: createUuidV7Source(now, randomUUID),
    now,
    onStoreFailure: () => undefined,
  };
  const receiver = createReceiver({
    ...acceptDeps,
    idempotency: store.idempotency,
    onPresetFailed: (_preset, error) => failures.push(error),
    onDeliveryFailed: (error) => failures.push(error),
  });
  const quota = { reserve: async () => () => undefined };
  const authenticator = { directory, signatures: store.signatures, limits, now };
  const version = '0.0.0-test';
  return {
    accept: createAccept(acceptDeps),
    receiveEvent: createReceiveEvent({ authenticator, receiver, quota, trustedProxies, version }),
    idempotency: createIdempotency({ definitions, isConfigured, store, now }),
    authenticator,
    parser: new Parser({ allowed: [] }),
    trustedProxies,
    maxBodyBytes: options.maxBodyBytes ?? 262_144,
    version,
    channels: definitions.map(({ name }) => name),
    newRequestId: () => `req_${randomUUID()}`,
    now,
    log: { answered: () => undefined, failed: ({ error }) => failures.push(error) },
  };
}

/** A channel that records its sends and returns the outcomes that the test sets. */
export class RecordingChannel<Target extends ChannelTarget> implements Channel<Target> {
  readonly sent: { notification: Parameters<Channel<Target>['send']>[0]; target: Target; qos: number }[] = [];
  readonly #outcomes: Outcome[];

  /** The outcomes of the first target, the second, and so on; `sent` for those beyond. */
  constructor(...outcomes: Outcome[]) {
    this.#outcomes = outcomes;
  }

  async send(...[notification, targets, { qos }]: Parameters<Channel<Target>['send']>) {
    for (const target of targets) this.sent.push({ notification, target, qos });
    return targets.map((_, index) => this.#outcomes[index] ?? { kind: 'sent' as const });
  }
}
