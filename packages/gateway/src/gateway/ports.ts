// What the use cases need from the outside. Implementations live in store/ and channels/.
import type { Category, CustomBroker, JsonObject, KeyType, Qos, Severity } from '@tocsin/contract';
import type { Outcome } from '../core/answer.ts';
import type { Device, EmailTarget, MqttTarget, PushTarget, Recipients } from '../core/plan.ts';
import type { Rate } from '../core/rate.ts';

export interface NotificationContent {
  title: string;
  body: string;
  source: string;
  category: Category;
  severity: Severity | null;
  data: JsonObject;
}

export interface Notification extends NotificationContent {
  id: string;
  ownerId: string;
  createdAt: number;
}

export interface NotificationPage {
  notifications: Notification[];
  /** Ids of rows that do not open: they were altered, or the key they were sealed with is gone. */
  damaged: string[];
  /** Where the next page starts; undefined on the last. */
  next: string | undefined;
}

export interface Owner {
  id: string;
  name: string;
  email: string | null;
  emailAlerts: boolean;
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
}

export interface StoredPushTarget extends PushTarget {
  ownerId: string;
  label: string | null;
  createdAt: number;
  /** When the provider said that the token is no more. */
  disabledAt: number | null;
}

export interface MqttSubscription {
  filter: string;
  qos: Qos;
}

/** A session that an MQTT client of a device keeps with the embedded broker while it is away. */
export interface MqttSessionName {
  ownerId: string;
  deviceId: string;
  clientId: string;
}

export interface MqttSession extends MqttSessionName {
  subscriptions: readonly MqttSubscription[];
  seenAt: number;
}

/** A message that such a session has not confirmed; its text stays in the sealed row of the notification. */
export interface MqttWaiting {
  notificationId: string;
  qos: Exclude<Qos, 0>;
  /** With QoS 2, once it was sent. */
  messageId: number | null;
  /** `pubrel` once the client has confirmed a QoS 2 message and is to be told so. */
  state: 'publish' | 'pubrel';
}

/** The store did not do what was asked, and may do so later: locked, full, gone, or too slow. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The data key of an owner is missing or does not open with the master key. */
export class EncryptionKeyMissing extends Error {
  override readonly name = 'EncryptionKeyMissing';
}

/** A key with this value is there already. */
export class KeyExists extends Error {
  override readonly name = 'KeyExists';
}

/** The part of the store that serving a request needs. */
export interface NotificationStore {
  /** Resolves once the sealed row is durable. Rejects with StoreUnavailable or EncryptionKeyMissing. */
  save(notification: Notification): Promise<void>;
}

export interface DirectoryStore {
  findKey(digest: string): Promise<ApiKey | null>;
  recipientsOf(ownerId: string): Promise<Recipients>;
  /** Grows with every change of owners, keys or devices, whichever process made it. */
  readChanges(): Promise<{ generation: number; hasIrregularKeys: boolean }>;
}

export interface SignatureStore {
  /** True the first time; false when this owner's signature was used before and has not expired. */
  claimSignature(ownerId: string, signature: string, expiresAt: number): Promise<boolean>;
}

/** Everything a store does; the contract suite in `test/store-contract.ts` says how. */
export interface Store extends NotificationStore, DirectoryStore, SignatureStore {
  createOwner(owner: Owner): Promise<void>;
  /** Creates the owner only where there is none yet, whoever else tries at the same moment; says whether it did. */
  createFirstOwner(owner: Owner): Promise<boolean>;
  listOwners(): Promise<Owner[]>;
  findOwner(id: string): Promise<Owner | null>;
  updateOwner(owner: Owner): Promise<boolean>;
  deleteOwner(id: string): Promise<boolean>;

  /** Rejects with KeyExists where the value is taken. */
  createKey(key: ApiKey): Promise<void>;
  listKeys(ownerId: string): Promise<ApiKey[]>;
  revokeKey(id: string, at: number): Promise<ApiKey | null>;

  createDevice(device: StoredDevice, secretDigest: string): Promise<void>;
  listDevices(ownerId: string): Promise<StoredDevice[]>;
  changeDevice(id: string, change: Partial<Pick<Device, 'state' | 'paused'>>): Promise<StoredDevice | null>;
  deleteDevice(id: string): Promise<boolean>;

  /** The device with the digest of what it signs in with. */
  findDevice(id: string): Promise<{ device: StoredDevice; secretDigest: string } | null>;

  createPushTarget(target: StoredPushTarget): Promise<void>;
  listPushTargets(ownerId: string): Promise<StoredPushTarget[]>;
  findPushTarget(id: string): Promise<StoredPushTarget | null>;
  disablePushTarget(id: string, at: number): Promise<void>;
  deletePushTarget(id: string): Promise<boolean>;

  listMqttSessions(): Promise<MqttSession[]>;
  /** Creates it or replaces its subscriptions. */
  saveMqttSession(session: MqttSession): Promise<void>;
  touchMqttSessions(sessions: readonly MqttSessionName[], at: number): Promise<void>;
  /** With everything that waits for it. */
  deleteMqttSession(session: MqttSessionName): Promise<void>;
  /** Does nothing for a session that is not there, nor for a message that waits already. */
  enqueueMqtt(
    messages: readonly { session: MqttSessionName; notificationId: string; qos: MqttWaiting['qos'] }[],
  ): Promise<void>;
  /** In the order of the notifications. */
  listMqttWaiting(session: MqttSessionName, limit: number): Promise<MqttWaiting[]>;
  /** Those that have a message id, in the order of the notifications. */
  listMqttInFlight(session: MqttSessionName): Promise<MqttWaiting[]>;
  updateMqttWaiting(
    session: MqttSessionName,
    messages: readonly Pick<MqttWaiting, 'notificationId' | 'messageId' | 'state'>[],
  ): Promise<void>;
  removeMqttWaiting(session: MqttSessionName, notificationIds: readonly string[]): Promise<void>;
  /** Keeps the newest. */
  trimMqttWaiting(session: MqttSessionName, keep: number): Promise<void>;
  /** Deletes sessions last seen before, and those whose device is gone, with what waits for them; says how many. */
  purgeMqttSessions(before: number): Promise<number>;

  /** A secret of the service itself, sealed with the master key; made at the first call, the same for every process. */
  obtainSecret(name: string, make: () => string): Promise<string>;

  findNotification(ownerId: string, id: string): Promise<Notification | null>;
  /** Newest first; `before` is `next` of the page that precedes. */
  listNotifications(ownerId: string, page: { limit: number; before?: string }): Promise<NotificationPage>;
  /** Deletes what is older than `before`, and signatures that expired by `now`; says how many notifications went. */
  purge(before: number, now: number, signal?: AbortSignal): Promise<number>;
  /** Resolves when the store can be read and written now. */
  check(): Promise<void>;
  /** Reads everything and says what is damaged; empty when all is well. */
  verify(): Promise<string[]>;
  close(): Promise<void>;
}

export interface SendOptions {
  qos: Qos;
  /** A broker that the request brought along; null: the service's own. */
  customBroker: CustomBroker | null;
  /** The notification could not be stored: nothing that waits can refer to its row. */
  isStored?: false;
}

/**
 * A way to reach people. `send` gives one outcome per target, in order, and never rejects. When the signal aborts it
 * settles at once: what is not known to be sent by then is a `retry`.
 */
export interface Channel<Target> {
  send(
    notification: Notification,
    targets: readonly Target[],
    options: SendOptions,
    signal: AbortSignal,
  ): Promise<readonly Outcome[]>;
}

/** A channel with what its keeper needs: a look at its health, and an end. */
export interface ManagedChannel<Target> extends Channel<Target> {
  /** null when the provider answers; otherwise what is wrong and what to do, without secrets. */
  check(): Promise<string | null>;
  close(): Promise<void>;
}

export interface Channels {
  push: Channel<PushTarget>;
  email: Channel<EmailTarget>;
  mqtt: Channel<MqttTarget>;
}
