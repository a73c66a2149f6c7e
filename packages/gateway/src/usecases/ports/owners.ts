// Owners, and what belongs to them.
import type { KeyType } from '@tocsin/contract';
import type { Device, PushTarget, Recipients } from '../../core/plan.ts';
import type { QuietHours } from '../../core/quiet-hours.ts';
import type { Rate } from '../../core/rate.ts';

export interface Owner {
  id: string;
  name: string;
  email: string | null;
  emailAlerts: boolean;
  /** Operators see in the console which owners there are, never what they are told. */
  role: 'owner' | 'operator';
  quietHours: QuietHours | null;
  /** null: as long as the operator keeps everybody's; never longer than that. */
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
  /** The value has the shape of a generated key but not its checksum: it was imported. */
  irregular: boolean;
}

export interface StoredDevice extends Device {
  ownerId: string;
  name: string;
  createdAt: number;
  /** When the embedded broker last heard of it; null: never, or another broker serves it. */
  seenAt: number | null;
}

/** What belongs to an owner, in numbers. */
export interface OwnerTotals {
  ownerId: string;
  keys: number;
  devices: number;
  pushTargets: number;
  waiting: number;
  dead: number;
  /** When the newest notification came. */
  newestAt: number | null;
}

export interface StoredPushTarget extends PushTarget {
  ownerId: string;
  label: string | null;
  createdAt: number;
  /** When the provider said that the token is no more. */
  disabledAt: number | null;
}

export interface OwnerStore {
  createOwner(owner: Owner): Promise<void>;
  /** Creates the owner only where there is none yet, whoever else tries at the same moment; says whether it did. */
  createFirstOwner(owner: Owner): Promise<boolean>;
  hasOwners(): Promise<boolean>;
  /** Rejects where one does not open, unless `onDamaged` wants to hear of it by its id. */
  listOwners(onDamaged?: (id: string) => void): Promise<Owner[]>;
  findOwner(id: string): Promise<Owner | null>;
  updateOwner(owner: Owner): Promise<boolean>;
  /** Asks `change` again where somebody else changed the owner at the same moment; null where there is none. */
  changeOwner(id: string, change: (owner: Owner) => Owner): Promise<Owner | null>;
  deleteOwner(id: string): Promise<boolean>;
  /** Of every owner; keys that are revoked do not count. */
  ownerTotals(): Promise<OwnerTotals[]>;
}

export interface KeyStore {
  /** Rejects with KeyExists where the value is taken. */
  createKey(key: ApiKey): Promise<void>;
  /** Rejects where one does not open, unless `onDamaged` wants to hear of it by its id; the same with those below. */
  listKeys(ownerId: string, onDamaged?: (id: string) => void): Promise<ApiKey[]>;
  revokeKey(id: string, at: number): Promise<ApiKey | null>;
  /** For keys that were made for one request: nothing of them is left to list. */
  deleteKey(ownerId: string, id: string): Promise<void>;
}

export interface DeviceStore {
  createDevice(device: StoredDevice, secretDigest: string): Promise<void>;
  listDevices(ownerId: string, onDamaged?: (id: string) => void): Promise<StoredDevice[]>;
  changeDevice(
    id: string,
    change: Partial<Pick<StoredDevice, 'state' | 'paused' | 'name'>>,
  ): Promise<StoredDevice | null>;
  /** What it signs in with from now on. */
  changeDeviceSecret(id: string, secretDigest: string): Promise<boolean>;
  touchDevices(ids: readonly string[], at: number): Promise<void>;
  /** Ids of all devices that have connected to the embedded broker at least once. */
  listSeenDevices(): Promise<string[]>;
  deleteDevice(id: string): Promise<boolean>;

  /** The device with the digest of what it signs in with. */
  findDevice(id: string): Promise<{ device: StoredDevice; secretDigest: string } | null>;
}

export interface PushTargetStore {
  createPushTarget(target: StoredPushTarget): Promise<void>;
  listPushTargets(ownerId: string, onDamaged?: (id: string) => void): Promise<StoredPushTarget[]>;
  findPushTarget(id: string): Promise<StoredPushTarget | null>;
  disablePushTarget(id: string, at: number): Promise<void>;
  deletePushTarget(id: string): Promise<boolean>;
}

export interface DirectoryStore {
  findKey(digest: string): Promise<ApiKey | null>;
  recipientsOf(ownerId: string): Promise<Recipients>;
  /** Grows with every change of owners, keys or devices, whichever process made it. */
  readChanges(): Promise<{ generation: number; hasIrregularKeys: boolean }>;
}
