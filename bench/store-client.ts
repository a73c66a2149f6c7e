// A client of the same store beside the gateway, in a separate process, that uses the service's own code.
import { randomBytes, randomUUID } from 'node:crypto';
import type { NotificationContent } from '@tocsin/contract';
import { digestOf } from '../packages/gateway/src/core/key-format.ts';
import { createUuidV7Source } from '../packages/gateway/src/core/uuid-v7.ts';
import { openStore } from '../packages/gateway/src/store/open-store.ts';
import type { Store } from '../packages/gateway/src/usecases/ports/index.ts';
import {
  type CreatedDevice,
  createDevice,
  createKey,
  createOwner,
  newId as newRowId,
  systemEnvironment,
} from '../packages/gateway/src/usecases/registration.ts';
import { percentile } from './figures.ts';
import { notification } from './request.ts';

export interface OpenJob {
  kind: 'open';
  dataDir: string;
  databaseUrl: string | null;
}

/** Stores notifications as the gateway would. */
export interface FillJob {
  kind: 'fill';
  ownerId: string;
  count: number;
}

/** Reads the newest page of an inbox repeatedly. */
export interface PagesJob {
  kind: 'pages';
  ownerId: string;
  limit: number;
  times: number;
}

/** Decrypts every row of an owner. */
export interface WalkJob {
  kind: 'walk';
  ownerId: string;
}

export interface DevicesJob {
  kind: 'devices';
  ownerId: string;
  count: number;
}

/** Creates owners, each with a key, devices and browsers that are signed in. */
export interface OwnersJob {
  kind: 'owners';
  count: number;
  devicesEach: number;
  sessionsEach: number;
}

export interface CreatedOwner {
  id: string;
  key: string;
  devices: CreatedDevice['mqtt'][];
  /** The values of session cookies. */
  sessions: string[];
}

export interface WaitingJob {
  kind: 'waiting';
}

export type StoreJob = FillJob | PagesJob | WalkJob | DevicesJob | OwnersJob | WaitingJob;

export interface WalkResult {
  rows: number;
  /** The id of a notification in the middle: about as many are newer as are older. */
  middle: string;
}

export interface PagesResult {
  p50Ms: number;
  p99Ms: number;
}

/** Enough to have the next batch ready when one has been committed. */
const fillConcurrency = 1024;
const warmUpPages = 50;
const walkPage = 1000;
/** Fine enough to find the middle of a thousand rows. */
const markEvery = 25;

const newId = createUuidV7Source(Date.now, randomUUID);
let store: Store | undefined;

async function run(job: OpenJob | StoreJob): Promise<unknown> {
  if (job.kind === 'open') {
    store = await openStore({ dataDir: job.dataDir, databaseUrl: job.databaseUrl, masterKey: null }, 'existing');
    return 'open';
  }
  if (store === undefined) throw new Error('The store is not open yet.');
  switch (job.kind) {
    case 'fill':
      return fill(store, job);
    case 'pages':
      return timePages(store, job);
    case 'walk':
      return walk(store, job.ownerId);
    case 'devices':
      for (let count = 0; count < job.count; count += 1) {
        const wanted = { ownerId: job.ownerId, name: `Device ${count}`, topicPrefix: 'tocsin', urls: [] };
        await createDevice(store, systemEnvironment, wanted);
      }
      return job.count;
    case 'owners':
      return createOwners(store, job);
    case 'waiting':
      return (await store.deliveries.totals()).waiting;
  }
}

/** One owner after the other, each with all of its rows at once, so that they share commits. */
async function createOwners(store: Store, { count, devicesEach, sessionsEach }: OwnersJob): Promise<CreatedOwner[]> {
  const created: CreatedOwner[] = [];
  for (let number = 0; number < count; number += 1) {
    const profile = { name: `Owner ${number}`, email: null, emailAlerts: false };
    const { id: ownerId } = await createOwner(store, systemEnvironment, profile);
    const { value: key } = await createKey(store, systemEnvironment, { ownerId, type: 'internal_service' });
    const devices = await Promise.all(
      Array.from({ length: devicesEach }, (_, device) =>
        createDevice(store, systemEnvironment, { ownerId, name: `Device ${device}`, topicPrefix: 'tocsin', urls: [] }),
      ),
    );
    const sessions: string[] = [];
    for (let session = 0; session < sessionsEach; session += 1) sessions.push(await createSession(store, ownerId));
    created.push({ id: ownerId, key, devices: devices.map(({ mqtt }) => mqtt), sessions });
  }
  return created;
}

async function createSession(store: Store, ownerId: string): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  const now = Date.now();
  await store.sessions.create({
    ...{ id: newRowId('ses', systemEnvironment), ownerId, tokenDigest: digestOf(token), method: 'link' },
    ...{ userAgent: 'bench', address: '127.0.0.1', createdAt: now, seenAt: now, expiresAt: now + 3_600_000 },
  });
  return token;
}

async function fill({ notifications }: Store, { ownerId, count }: FillJob): Promise<number> {
  const { payload: data, ...fields } = notification;
  const content: NotificationContent = { ...fields, data };
  let begun = 0;
  const saveNext = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      await notifications.save({ id: newId(), ownerId, createdAt: Date.now(), content });
    }
  };
  await Promise.all(Array.from({ length: fillConcurrency }, saveNext));
  return count;
}

async function timePages(store: Store, { ownerId, limit, times }: PagesJob): Promise<PagesResult> {
  const latencies = new Float64Array(times);
  for (let index = -warmUpPages; index < times; index += 1) {
    const startedAt = performance.now();
    const { notifications, damaged } = await store.notifications.list(ownerId, { limit });
    const ms = performance.now() - startedAt;
    if (notifications.length !== limit || damaged.length > 0) {
      throw new Error(
        `A page had ${notifications.length} readable rows and ${damaged.length} that cannot be decrypted.`,
      );
    }
    if (index >= 0) latencies[index] = ms;
  }
  latencies.sort();
  return { p50Ms: percentile(latencies, 0.5), p99Ms: percentile(latencies, 0.99) };
}

async function walk(store: Store, ownerId: string): Promise<WalkResult> {
  let rows = 0;
  const marks: string[] = [];
  for (let before: string | undefined; ; ) {
    const page = await store.notifications.list(ownerId, { limit: walkPage, ...(before !== undefined && { before }) });
    if (page.damaged.length > 0)
      throw new Error(`${page.damaged.length} rows cannot be decrypted, ${page.damaged[0]} first.`);
    rows += page.notifications.length;
    for (let index = 0; index < page.notifications.length; index += markEvery) {
      marks.push((page.notifications[index] as { id: string }).id);
    }
    before = page.next;
    if (before === undefined) return { rows, middle: marks[marks.length >> 1] ?? '' };
  }
}

process.on('message', async (job: OpenJob | StoreJob) => process.send?.(await run(job)));
process.on('disconnect', () => process.exit());
