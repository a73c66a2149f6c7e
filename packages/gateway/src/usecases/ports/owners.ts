// Owners, and their keys, devices and push targets.
import type { KeyType, Rate } from '@tocsin/contract';
import type { QuietHours } from '../../core/quiet-hours.ts';
import type { Device, PushTarget, Recipients } from '../../core/recipients.ts';
import type { HookRepository } from './hooks.ts';

export interface Owner {
  id: string;
  name: string;
  email: string | null;
  emailAlerts: boolean;
  /** Operators see the list of owners in the console, never their notifications. */
  role: 'owner' | 'operator';
  quietHours: QuietHours | null;
  /** null: the retention of the service, which is also the maximum. */
  retentionDays: number | null;
  createdAt: number;
}

export interface ApiKey {
  id: string;
  ownerId: string;
  digest: string;
  type: KeyType;
  label: string | null;
  allowedDomains: readonly string[];
  requireSignature: boolean;
  rateLimit: Rate | null;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  /** The key was imported: its value has the form of a generated key but a wrong checksum. */
  irregular: boolean;
}

export interface StoredDevice extends Device {
  ownerId: string;
  name: string;
  createdAt: number;
  /** When the device was last connected to the embedded broker; null: never, or it uses another broker. */
  seenAt: number | null;
}

/** Counts of an owner's keys, devices, push targets and deliveries. */
export interface OwnerTotals {
  ownerId: string;
  keys: number;
  devices: number;
  pushTargets: number;
  waiting: number;
  dead: number;
  /** When the newest notification was accepted. */
  newestAt: number | null;
}

export interface StoredPushTarget extends PushTarget {
  ownerId: string;
  label: string | null;
  createdAt: number;
  /** When the provider reported the token as expired. */
  disabledAt: number | null;
}

export interface OwnerRepository {
  create(owner: Owner): Promise<void>;
  /** Creates the owner only if there is none yet, also when several processes try at once; returns whether it did. */
  createFirst(owner: Owner): Promise<boolean>;
  hasAny(): Promise<boolean>;
  /** Rejects if a row cannot be decrypted, unless `onDamaged` is given, which is called with its id instead. */
  list(onDamaged?: (id: string) => void): Promise<Owner[]>;
  find(id: string): Promise<Owner | null>;
  update(owner: Owner): Promise<boolean>;
  /** Calls `change` again if the owner was changed concurrently; null if there is no such owner. */
  change(id: string, change: (owner: Owner) => Owner): Promise<Owner | null>;
  delete(id: string): Promise<boolean>;
  /** Totals of every owner; revoked keys do not count. */
  totals(): Promise<OwnerTotals[]>;
  recipientsOf(ownerId: string): Promise<Recipients>;
}

export interface KeyRepository {
  /** Rejects with KeyExists if there is a key with this value. */
  create(key: ApiKey): Promise<void>;
  find(digest: string): Promise<ApiKey | null>;
  /** Rejects if a row cannot be decrypted, unless `onDamaged` is given, which is called with its id instead. */
  list(ownerId: string, onDamaged?: (id: string) => void): Promise<ApiKey[]>;
  revoke(id: string, at: number): Promise<ApiKey | null>;
  /** For keys that were created for a single request: unlike revoked keys they are not listed afterwards. */
  delete(ownerId: string, id: string): Promise<void>;
}

export interface DeviceRepository {
  create(device: StoredDevice, secretDigest: string): Promise<void>;
  /** Rejects if a row cannot be decrypted, unless `onDamaged` is given, which is called with its id instead. */
  list(ownerId: string, onDamaged?: (id: string) => void): Promise<StoredDevice[]>;
  change(id: string, change: Partial<Pick<StoredDevice, 'state' | 'paused' | 'name'>>): Promise<StoredDevice | null>;
  /** Replaces the digest of the password. */
  changeSecret(id: string, secretDigest: string): Promise<boolean>;
  touch(ids: readonly string[], at: number): Promise<void>;
  /** Ids of all devices that have connected to the embedded broker at least once. */
  listSeen(): Promise<string[]>;
  delete(id: string): Promise<boolean>;
  /** The device with the digest of its password. */
  find(id: string): Promise<{ device: StoredDevice; secretDigest: string } | null>;
  /** Of the devices with these ids that exist, in any order. Reads nothing that is encrypted. */
  listCredentials(ids: readonly string[]): Promise<DeviceCredentials[]>;
}

/** What decides whether a device may connect. */
export interface DeviceCredentials extends Pick<StoredDevice, 'id' | 'ownerId' | 'state' | 'paused'> {
  secretDigest: string;
}

export interface PushTargetRepository {
  create(target: StoredPushTarget): Promise<void>;
  /** Rejects if a row cannot be decrypted, unless `onDamaged` is given, which is called with its id instead. */
  list(ownerId: string, onDamaged?: (id: string) => void): Promise<StoredPushTarget[]>;
  find(id: string): Promise<StoredPushTarget | null>;
  disable(id: string, at: number): Promise<void>;
  delete(id: string): Promise<boolean>;
}

/** The parts of the store that the directory caches. */
export interface DirectorySource {
  keys: Pick<KeyRepository, 'find'>;
  hooks: Pick<HookRepository, 'find'>;
  owners: Pick<OwnerRepository, 'recipientsOf'>;
  changes: Pick<ChangeFeed, 'read'>;
}

/** Changes of owners, keys, devices and push targets, for caches. */
export interface ChangeFeed {
  /** The generation grows with every change, regardless of which process made it. */
  read(): Promise<{ generation: number; hasIrregularKeys: boolean }>;
  /** Calls back soon after another process made a change, on backends that support it (PostgreSQL). */
  listen(listener: () => void): void;
}
