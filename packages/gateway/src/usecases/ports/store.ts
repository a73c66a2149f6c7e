// All persistent state.
import type { StoreFailure } from '../../core/store-failure.ts';
import type { ClockRepository } from './clock.ts';
import type { DeliveryRepository, DispatchRepository, TargetQueueRepository } from './deliveries.ts';
import type { HookRepository } from './hooks.ts';
import type { InboxRepository } from './inbox.ts';
import type { LimitRepository } from './limits.ts';
import type { MasterKeyRepository, SecretRepository } from './master-keys.ts';
import type { MqttQueueRepository, MqttSessionRepository } from './mqtt-sessions.ts';
import type { IdempotencyRepository, NotificationRepository, SignatureRepository } from './notifications.ts';
import type { ChangeFeed, DeviceRepository, KeyRepository, OwnerRepository, PushTargetRepository } from './owners.ts';
import type { IdentityRepository, OneTimeLinkRepository, PasskeyRepository, SessionRepository } from './sign-in.ts';

/** The repositories of one database. The contract suite in `test/store-contract.ts` specifies each of them. */
export interface Store {
  readonly owners: OwnerRepository;
  readonly keys: KeyRepository;
  readonly hooks: HookRepository;
  readonly devices: DeviceRepository;
  readonly pushTargets: PushTargetRepository;
  readonly changes: ChangeFeed;
  readonly notifications: NotificationRepository;
  readonly idempotency: IdempotencyRepository;
  readonly signatures: SignatureRepository;
  readonly dispatches: DispatchRepository;
  readonly targetQueues: TargetQueueRepository;
  readonly deliveries: DeliveryRepository;
  readonly inbox: InboxRepository;
  readonly mqttSessions: MqttSessionRepository;
  readonly mqttQueues: MqttQueueRepository;
  readonly sessions: SessionRepository;
  readonly oneTimeLinks: OneTimeLinkRepository;
  readonly passkeys: PasskeyRepository;
  readonly identities: IdentityRepository;
  readonly limits: LimitRepository;
  readonly secrets: SecretRepository;
  readonly masterKeys: MasterKeyRepository;
  readonly clock: ClockRepository;
  readonly maintenance: StoreMaintenance;

  /** Resolves if the store can be read and written now. */
  check(): Promise<void>;
  /** Repeats an operation that failed for one caller, for the same and for others; rejects if it fails for all of them. */
  probe(failure: StoreFailure): Promise<void>;
  /**
   * Whether the installation predates these defaults: email must be encrypted, the console refuses unknown host names,
   * and operators must verify themselves to their passkeys.
   */
  isLegacy(): Promise<boolean>;
  /** Registers the embedded broker of this node; calls back when another node registers one on the same database, and when it ends. */
  claimBroker(onShared: (isShared: boolean) => void): void;
  close(): Promise<void>;
}

export interface StoreMaintenance {
  /**
   * Deletes notifications older than `before`, and signatures, idempotency keys, sessions and links that expired by
   * `now`; returns the number of notifications.
   */
  purge(before: number, now: number, signal?: AbortSignal): Promise<number>;
  /** Reads and decrypts everything and describes the damage found; empty if there is none. */
  verify(): Promise<string[]>;
  /** Checks the database itself for damage, while it serves requests; empty if there is none. */
  examine(signal: AbortSignal): Promise<string[]>;
  /** Checkpoints the write-ahead log, if the backend has one and no reader prevents it. */
  checkpoint(): Promise<void>;
  /** Rows of owners, keys and credentials that were rolled back, added or removed outside Tocsin; empty if there are none. */
  findRolledBackRows(): Promise<string[]>;
  /** Accepts all such rows as valid, by decision of the operator; returns how many there are. */
  trustRows(): Promise<number>;
  /** Adopts rows written by servers of the previous version during an upgrade. To be called often. */
  adoptRows(): Promise<void>;
}
