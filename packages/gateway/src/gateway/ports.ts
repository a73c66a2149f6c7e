// What the use cases need from the outside. Implementations live in store/ and channels/.
import type { Category, CustomBroker, JsonObject, KeyType, Qos, Severity } from '@tocsin/contract';
import type { Outcome } from '../core/answer.ts';
import type { Device, EmailTarget, MqttTarget, PushTarget, Recipients } from '../core/plan.ts';
import type { QuietHours } from '../core/quiet-hours.ts';
import type { Rate } from '../core/rate.ts';
import type { InboxStore } from './inbox-ports.ts';
import type { SignInStore } from './sign-in-ports.ts';

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

/** A sealed value that does not open: altered, moved to another place, or sealed with another key. */
export class SealBroken extends Error {
  override readonly name = 'SealBroken';
}

/** A key with this value is there already. */
export class KeyExists extends Error {
  override readonly name = 'KeyExists';
}

export interface MasterKeyStatus {
  /** Where this process has its keys from. */
  source: string;
  /** Those in use, newest first, with how much each seals: two while a rotation is under way or was cut off. */
  versions: readonly { version: number; values: number }[];
  /** Keys that were given and are not in use: retired ones, or the next. */
  spareKeys: number;
  /** A key that is not in use stands in front: a rotation will take it. */
  nextKeyGiven: boolean;
}

export interface RotationProgress {
  step: 'key_ready' | 'key_in_use' | 'resealing' | 'old_key_retired';
  resealed?: number;
}

export interface RotationOptions {
  onProgress?: (progress: RotationProgress) => void;
  /** Where the old key is kept, for backups from before. */
  oldKeyFile?: string;
}

export interface RotationReport {
  /** The version in use now. */
  version: number;
  /** The versions that were in use before. */
  retired: readonly number[];
  resealed: number;
  /** Values that do not open and were left as they are. */
  damaged: readonly string[];
  /** What is left to be done by hand. */
  todo: readonly string[];
}

export type ChannelName = 'push' | 'email' | 'mqtt';

/** Whom a stored notification is to be told to; targets by id, so that what is kept holds no address and no token. */
export interface Dispatch {
  qos: Qos;
  /** The caller is told of MQTT failures and answers for them: nothing is tried again there. */
  isStrict: boolean;
  push: readonly string[];
  /** The mailbox of the owner. */
  email: boolean;
  mqtt: readonly string[];
}

/** How a dispatch ended, target by target, in its order. */
export interface DispatchResults {
  push: readonly Outcome['kind'][];
  email: readonly Outcome['kind'][];
  mqtt: readonly Outcome['kind'][];
}

/** What goes into the store together with a notification, or not at all. */
export interface SaveOptions {
  dispatch: Dispatch | null;
  idempotency: IdempotencyClaim | null;
  /** Until when this process answers for both; another may take over afterwards. */
  leaseUntil: number;
}

export interface IdempotencyClaim {
  keyDigest: string;
  /** Of the request; another one under the same key is refused. */
  fingerprint: string;
  expiresAt: number;
}

/** An idempotency key in use. */
export interface IdempotencyRecord {
  fingerprint: string;
  notificationId: string;
  leaseUntil: number;
  /** null while the first request is being answered, or when its process died. */
  answer: FirstAnswer | null;
}

export interface FirstAnswer {
  status: number;
  body: string;
}

/** A target that could not be told at the first attempt. */
export interface Delivery {
  ownerId: string;
  notificationId: string;
  channel: ChannelName;
  /** Id of a device or push target; empty for the mailbox of the owner. */
  target: string;
  state: 'waiting' | 'sent' | 'dead';
  /** How often its turn came since the first attempt. */
  attempts: number;
  qos: Qos;
  createdAt: number;
  /** When its turn comes; null once it is over. */
  nextAt: number | null;
  /** Not to be tried before, even when the channel works again: the provider wants this one later. */
  notBefore: number;
  /** After this it is given up. */
  expiresAt: number;
  /** When it was sent or given up. */
  endedAt: number | null;
  /** Of the last attempt. */
  error: string;
}

/** All that waits for one target, in the order of acceptance. */
export interface LaneName {
  ownerId: string;
  channel: ChannelName;
  target: string;
}

/** A lane that is held: nobody else sends to its target until then. */
export interface Lane extends LaneName {
  leaseUntil: number;
}

export interface DispatchToSettle {
  ownerId: string;
  notificationId: string;
  results: DispatchResults;
  /** Those that were not reached. */
  failed: readonly Delivery[];
}

export interface DeliveryFilter {
  ownerId: string;
  notificationId?: string;
  state?: Delivery['state'];
  /** Newest notification first. */
  limit: number;
}

export interface WaitingTotals {
  waiting: number;
  dead: number;
  /** When the one that waits longest was accepted; null when nothing waits. */
  oldestWaitingAt: number | null;
}

/** What redelivery keeps: dispatches until they are settled, deliveries that wait, and the lanes they wait in. */
export interface DeliveryStore {
  /** Resolves once durable. Settling twice does nothing the second time. */
  settleDispatches(settled: readonly DispatchToSettle[]): Promise<void>;
  /** Takes over dispatches whose lease has passed: their process died between storing and settling. */
  claimDispatches(
    now: number,
    leaseUntil: number,
    limit: number,
  ): Promise<{ ownerId: string; notificationId: string; dispatch: Dispatch }[]>;
  findDispatch(
    ownerId: string,
    notificationId: string,
  ): Promise<{ dispatch: Dispatch; results: DispatchResults | null } | null>;

  /** Lanes that are due and that nobody holds, held until then by the caller alone. */
  claimLanes(now: number, leaseUntil: number, limit: number): Promise<Lane[]>;
  /** null when it is no longer held: its lease passed and another took it. */
  extendLane(lane: Lane, leaseUntil: number): Promise<Lane | null>;
  /** Gives it back; it is due at `at`, or with the first of what waits in it, or now if it was hastened meanwhile. An empty lane ends. */
  releaseLane(lane: Lane, at?: number): Promise<void>;
  /** Everything in the lane that is due has had its turn; nothing of it is due again before `notBefore`. */
  postponeDue(lane: LaneName, now: number, turn: { delaysMs: readonly number[]; notBefore: number }): Promise<void>;
  /** Gives up all that waits in the lane. */
  endLane(lane: LaneName, now: number): Promise<void>;
  /** Those that may be tried now, in the order of acceptance, behind the notification `after`. */
  listWaiting(lane: LaneName, page: { now: number; limit: number; after?: string }): Promise<Delivery[]>;
  /** Writes state, attempts, times and error of deliveries that are there. */
  updateDeliveries(deliveries: readonly Delivery[]): Promise<void>;
  /** Makes every lane of a channel due now; says how many. */
  hastenLanes(channel: ChannelName, now: number): Promise<number>;

  countWaiting(ownerId: string): Promise<number>;
  waitingTotals(): Promise<WaitingTotals>;
  listDeliveries(filter: DeliveryFilter): Promise<Delivery[]>;
  /** Puts deliveries that are waiting or dead back to the start: due now, for another 24 hours. Says how many. */
  retryDeliveries(deliveries: readonly Delivery[], now: number): Promise<number>;
  /** Says how many. */
  dropDeliveries(deliveries: readonly Delivery[]): Promise<number>;
}

/** The part of the store that serving a request needs. */
export interface NotificationStore {
  /**
   * Resolves once the sealed row is durable; `duplicate` when the idempotency key was taken before, and then nothing is
   * stored. Rejects with StoreUnavailable or EncryptionKeyMissing.
   */
  save(notification: Notification, options?: SaveOptions): Promise<'saved' | 'duplicate'>;
}

export interface IdempotencyStore {
  findIdempotent(ownerId: string, keyDigest: string, now: number): Promise<IdempotencyRecord | null>;
  /** Keeps the answer for whoever repeats the request; resolves once durable. The first one stays. */
  answerIdempotent(ownerId: string, keyDigest: string, answer: FirstAnswer): Promise<void>;
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

/** Where a key stands: requests in its window so far, and how long that lasts. */
export interface Standing {
  used: number;
  msLeft: number;
}

export interface RequestCount {
  ownerId: string;
  keyId: string;
  windowMs: number;
  count: number;
}

/** Counts the requests of keys, for every process on the same database. */
export interface LimitStore {
  /** Adds to each, in a window that begins with its first request, and says where each stands then. None is there twice. */
  countRequests(requests: readonly RequestCount[]): Promise<Standing[]>;
}

/** Everything a store does; the contract suite in `test/store-contract.ts` says how. */
export interface Store
  extends NotificationStore,
    IdempotencyStore,
    DeliveryStore,
    DirectoryStore,
    SignatureStore,
    LimitStore,
    InboxStore,
    SignInStore {
  /** Calls back soon after another process changed owners, keys or devices, where the backend can tell. */
  onChange(listener: () => void): void;
  createOwner(owner: Owner): Promise<void>;
  /** Creates the owner only where there is none yet, whoever else tries at the same moment; says whether it did. */
  createFirstOwner(owner: Owner): Promise<boolean>;
  /** Rejects where one does not open, unless `onDamaged` wants to hear of it by its id. */
  listOwners(onDamaged?: (id: string) => void): Promise<Owner[]>;
  findOwner(id: string): Promise<Owner | null>;
  updateOwner(owner: Owner): Promise<boolean>;
  /** Asks `change` again where somebody else changed the owner at the same moment; null where there is none. */
  changeOwner(id: string, change: (owner: Owner) => Owner): Promise<Owner | null>;
  deleteOwner(id: string): Promise<boolean>;
  /** Of every owner; keys that are revoked do not count. */
  ownerTotals(): Promise<OwnerTotals[]>;

  /** Rejects with KeyExists where the value is taken. */
  createKey(key: ApiKey): Promise<void>;
  /** Rejects where one does not open, unless `onDamaged` wants to hear of it by its id; the same with those below. */
  listKeys(ownerId: string, onDamaged?: (id: string) => void): Promise<ApiKey[]>;
  revokeKey(id: string, at: number): Promise<ApiKey | null>;

  createDevice(device: StoredDevice, secretDigest: string): Promise<void>;
  listDevices(ownerId: string, onDamaged?: (id: string) => void): Promise<StoredDevice[]>;
  changeDevice(
    id: string,
    change: Partial<Pick<StoredDevice, 'state' | 'paused' | 'name'>>,
  ): Promise<StoredDevice | null>;
  /** What it signs in with from now on. */
  changeDeviceSecret(id: string, secretDigest: string): Promise<boolean>;
  touchDevices(ids: readonly string[], at: number): Promise<void>;
  deleteDevice(id: string): Promise<boolean>;

  /** The device with the digest of what it signs in with. */
  findDevice(id: string): Promise<{ device: StoredDevice; secretDigest: string } | null>;

  createPushTarget(target: StoredPushTarget): Promise<void>;
  listPushTargets(ownerId: string, onDamaged?: (id: string) => void): Promise<StoredPushTarget[]>;
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
  masterKeyStatus(): Promise<MasterKeyStatus>;
  /** Replaces the master key under running servers; goes on with a rotation that was cut off. */
  rotateMasterKey(options?: RotationOptions): Promise<RotationReport>;

  findNotification(ownerId: string, id: string): Promise<Notification | null>;
  /** Newest first, or with `after` oldest first; `before` or `after` is `next` of the page that precedes, or empty. */
  listNotifications(
    ownerId: string,
    page: { limit: number; before?: string; after?: string },
  ): Promise<NotificationPage>;
  /** Deletes what is older than `before`, and signatures, idempotency keys, sessions and links that expired by `now`; says how many notifications went. */
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
