// The console's API in this process, on a real store and a real socket, with a clock and a mailbox that a test can look into.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { channels as definitions } from '../../gateway/src/channels/registry.ts';
import { createAddresses } from '../../gateway/src/console/addresses.ts';
import { createConsoleApp } from '../../gateway/src/console/app.ts';
import type { ConsoleApiDeps, SecurityNotice } from '../../gateway/src/console/deps.ts';
import { addApi } from '../../gateway/src/console/routes.ts';
import { createUuidV7Source } from '../../gateway/src/core/uuid-v7.ts';
import { createDispatchLifecycle } from '../../gateway/src/delivery/dispatch-lifecycle.ts';
import { openStore } from '../../gateway/src/store/open-store.ts';
import { createProcess } from '../../gateway/src/usecases/accept.ts';
import { makeLink } from '../../gateway/src/usecases/one-time-links.ts';
import type { Owner, Store } from '../../gateway/src/usecases/ports/index.ts';
import { createOwner, systemEnvironment } from '../../gateway/src/usecases/registration.ts';
import { ConsoleClient } from './console-client.ts';
import { channelsWith } from './local-gateway.ts';

export interface LocalConsole {
  app: FastifyInstance;
  /** The origin for browsers on this machine, with a host name. */
  origin: string;
  store: Store;
  owner: Owner;
  clock: { now: number };
  /** Internal errors. */
  failures: unknown[];
  /** Warnings for the operator about emails and the OpenID provider. */
  warnings: string[];
  /** Links that were sent by email. */
  emails: { to: string; url: string }[];
  /** Security notices that were sent to owners. */
  notices: { to: string; notice: SecurityNotice; settingsUrl: string }[];
  /** Every route, as registered with the framework. */
  routes: { method: string; url: string; isPublic: boolean }[];
  /** A link of the console that has not been used. */
  link(options?: { ownerId?: string; confirms?: string; lifetimeMs?: number }): Promise<string>;
  /** A client that is signed in. */
  signIn(ownerId?: string): Promise<ConsoleClient>;
  stop(): Promise<void>;
}

export interface LocalConsoleOptions {
  consoleUrl?: string;
  wrapStore?: (store: Store) => Store;
  parts?: Partial<ConsoleApiDeps>;
}

export async function startLocalConsole(options: LocalConsoleOptions = {}): Promise<LocalConsole> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
  const store = await openStore({ dataDir, masterKey: null }, 'create');
  const owner = await createOwner(store, systemEnvironment, {
    name: 'Ann',
    email: 'ann@example.org',
    emailAlerts: false,
  });
  const clock = { now: Date.now() };
  const now = (): number => clock.now;
  const failures: unknown[] = [];
  const warnings: string[] = [];
  const emails: LocalConsole['emails'] = [];
  const notices: LocalConsole['notices'] = [];
  const routes: LocalConsole['routes'] = [];
  const app = createConsoleApp();
  app.addHook('onRoute', ({ method, url, config }) => {
    for (const each of [method].flat()) routes.push({ method: each, url, isPublic: config?.access === 'public' });
  });
  const listeners = { api: 'http://127.0.0.1:8080/', console: '', mqtt: 'mqtt://127.0.0.1:1883' };
  const wrapped = options.wrapStore?.(store) ?? store;
  const lifecycle = createDispatchLifecycle({
    definitions,
    store: wrapped,
    maxWaitingPerOwner: 1000,
    now,
    random: () => 0.5,
    onFailed: (error) => failures.push(error),
  });
  addApi(app, {
    store: wrapped,
    now,
    environment: { ...systemEnvironment, now },
    addresses: createAddresses({
      consoleUrl: options.consoleUrl ?? null,
      apiUrl: null,
      devices: { publicAddresses: { deviceUrls: null, consoleUrl: null }, mqtt: { platform: null } },
      listeners: () => listeners,
      isTrustedProxy: () => false,
    }),
    definitions,
    process: createProcess({
      notifications: wrapped.notifications,
      channels: channelsWith(),
      lifecycle,
      responseBudgetMs: 3000,
      newId: createUuidV7Source(now, randomUUID),
      now,
      onStoreFailure: ({ error }) => failures.push(error),
    }),
    clientAddress: ({ ip }) => ip,
    mailer: {
      sendSignInLink: async ({ email }, url) => void emails.push({ to: email, url }),
      sendEmailConfirmation: async (_owner, email, url) => void emails.push({ to: email, url }),
      sendSecurityNotice: async ({ email }, notice, settingsUrl) =>
        void notices.push({ to: email, notice, settingsUrl }),
    },
    oidc: null,
    cookieKey: randomBytes(32),
    webPushProblem: () => null,
    topicPrefix: 'tocsin',
    sessionMaxMs: 90 * 86_400_000,
    service: {
      version: '0.0.0-test',
      webPushKey: '',
      retentionDays: 90,
      knowsLastSeen: true,
      channels: definitions.map(({ name, label }) => ({ name, label })),
    },
    stopping: new AbortController().signal,
    onError: (error) => failures.push(error),
    onEmailFailed: (cause) => warnings.push(cause),
    onOidcFailed: (cause) => warnings.push(cause),
    ...options.parts,
  });
  listeners.console = await app.listen({ host: '127.0.0.1', port: 0 });
  const origin = listeners.console.replace('127.0.0.1', 'localhost');
  const link: LocalConsole['link'] = async ({ ownerId = owner.id, confirms, lifetimeMs = 60_000 } = {}) => {
    const wanted = { ownerId, method: 'link', lifetimeMs, now: clock.now, ...(confirms && { confirms }) } as const;
    return (await makeLink(store, wanted, origin)).url;
  };
  return {
    app,
    origin,
    store,
    owner,
    clock,
    failures,
    warnings,
    emails,
    notices,
    routes,
    link,
    async signIn(ownerId) {
      const client = new ConsoleClient(origin);
      await client.useLink(await link(ownerId === undefined ? {} : { ownerId }));
      return client;
    },
    async stop() {
      app.server.closeAllConnections();
      await app.close();
      await lifecycle.close();
      await store.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
