// Creates owners, keys and devices for the command line, the first run and the console.
import { randomInt } from 'node:crypto';
import type { KeyType, Rate } from '@tocsin/contract';
import { deviceTopic } from '../core/device-topics.ts';
import { createKey as createKeyValue, digestOf, hasWrongChecksum, randomBase62 } from '../core/key-format.ts';
import type { ApiKey, Owner, Store, StoredDevice } from './ports/index.ts';

export interface Environment {
  now: () => number;
  randomIndex: (below: number) => number;
}

export const systemEnvironment: Environment = { now: Date.now, randomIndex: (below) => randomInt(below) };

export interface CreatedKey {
  key: ApiKey;
  /** Shown once; only its digest is kept. */
  value: string;
}

export interface CreatedDevice {
  device: StoredDevice;
  /** Credentials of the device; the password is shown once. */
  mqtt: { username: string; password: string; topic: string; urls: string[] };
}

export interface OwnerProfile extends Partial<Pick<Owner, 'id' | 'role'>> {
  name: string;
  email: string | null;
  emailAlerts: boolean;
}

export async function createOwner(store: Store, environment: Environment, profile: OwnerProfile): Promise<Owner> {
  const owner = newOwner(environment, profile);
  await store.owners.create(owner);
  return owner;
}

/** The first owner is an operator. null if there are owners already. */
export async function createFirstOwner(
  store: Store,
  environment: Environment,
  profile: OwnerProfile,
): Promise<Owner | null> {
  const owner = newOwner(environment, { role: 'operator', ...profile });
  return (await store.owners.createFirst(owner)) ? owner : null;
}

export async function createKey(
  store: Store,
  environment: Environment,
  wanted: {
    ownerId: string;
    type: KeyType;
    label?: string | null;
    allowedDomains?: readonly string[];
    requireSignature?: boolean;
    rateLimit?: Rate | null;
    expiresAt?: number | null;
    /** null: a new random one. */
    value?: string | null;
  },
): Promise<CreatedKey> {
  const value = wanted.value ?? createKeyValue(environment.randomIndex);
  const key: ApiKey = {
    id: newId('key', environment),
    ownerId: wanted.ownerId,
    digest: digestOf(value),
    type: wanted.type,
    label: wanted.label ?? null,
    allowedDomains: wanted.allowedDomains ?? [],
    requireSignature: wanted.requireSignature ?? false,
    rateLimit: wanted.rateLimit ?? null,
    createdAt: environment.now(),
    expiresAt: wanted.expiresAt ?? null,
    revokedAt: null,
    irregular: hasWrongChecksum(value),
  };
  await store.keys.create(key);
  return { key, value };
}

export async function createDevice(
  store: Store,
  environment: Environment,
  wanted: { ownerId: string; name: string; topicPrefix: string; urls: string[]; id?: string; password?: string },
): Promise<CreatedDevice> {
  const device: StoredDevice = {
    id: wanted.id ?? newId('dev', environment),
    ownerId: wanted.ownerId,
    name: wanted.name,
    state: 'active',
    paused: false,
    createdAt: environment.now(),
    seenAt: null,
  };
  const password = wanted.password ?? randomBase62(32, environment.randomIndex);
  await store.devices.create(device, digestOf(password));
  return { device, mqtt: mqttSettings(device, password, wanted) };
}

/** Replaces the password; the previous one is refused from now on. null if the device was deleted. */
export async function renewDevicePassword(
  store: Store,
  environment: Environment,
  device: StoredDevice,
  where: { topicPrefix: string; urls: string[] },
): Promise<CreatedDevice['mqtt'] | null> {
  const password = randomBase62(32, environment.randomIndex);
  const isChanged = await store.devices.changeSecret(device.id, digestOf(password));
  return isChanged ? mqttSettings(device, password, where) : null;
}

export function mqttSettings(
  { id, ownerId }: StoredDevice,
  password: string,
  { topicPrefix, urls }: { topicPrefix: string; urls: string[] },
): CreatedDevice['mqtt'] {
  return { username: id, password, topic: deviceTopic(topicPrefix, ownerId, id), urls };
}

function newOwner(environment: Environment, profile: OwnerProfile): Owner {
  return {
    id: newId('own', environment),
    role: 'owner',
    quietHours: null,
    retentionDays: null,
    createdAt: environment.now(),
    ...profile,
  };
}

export function newId(prefix: string, { randomIndex }: Environment): string {
  return `${prefix}_${randomBase62(16, randomIndex)}`;
}
