// Everything that is kept.
import type { StoreFailure } from '../../core/store-failure.ts';
import type { ClockStore } from './clock.ts';
import type { DeliveryStore } from './deliveries.ts';
import type { InboxStore } from './inbox.ts';
import type { LimitStore } from './limits.ts';
import type { MasterKeyStore } from './master-keys.ts';
import type { MqttSessionStore } from './mqtt-sessions.ts';
import type { HistoryStore, IdempotencyStore, NotificationStore, SignatureStore } from './notifications.ts';
import type { DeviceStore, DirectoryStore, KeyStore, OwnerStore, PushTargetStore } from './owners.ts';
import type { SignInStore } from './sign-in.ts';

/** The contract suite in `test/store-contract.ts` says how each part behaves. */
export interface Store
  extends NotificationStore,
    HistoryStore,
    IdempotencyStore,
    SignatureStore,
    OwnerStore,
    KeyStore,
    DeviceStore,
    PushTargetStore,
    DirectoryStore,
    LimitStore,
    DeliveryStore,
    MqttSessionStore,
    MasterKeyStore,
    ClockStore,
    InboxStore,
    SignInStore {
  /** Calls back soon after another process changed owners, keys or devices, where the backend can tell. */
  onChange(listener: () => void): void;
  /** To be called by a node with an embedded broker; calls back when another has one on the same database, and when that is over. */
  claimBroker(onShared: (isShared: boolean) => void): void;
  /** Deletes what is older than `before`, and signatures, idempotency keys, sessions and links that expired by `now`; says how many notifications went. */
  purge(before: number, now: number, signal?: AbortSignal): Promise<number>;
  /**
   * Whether the installation was made before email had to be encrypted, the console refused unknown host names, and
   * operators had to verify themselves to their passkeys.
   */
  isLegacy(): Promise<boolean>;
  /** Resolves when the store can be read and written now. */
  check(): Promise<void>;
  /** Repeats what failed for a caller, for this one or for others; rejects where it fails for all of them. */
  probe(failure: StoreFailure): Promise<void>;
  /** Reads everything and says what is damaged; empty when all is well. */
  verify(): Promise<string[]>;
  /** Looks for damage of the database itself, beside reads and writes; empty when there is none. */
  examine(signal: AbortSignal): Promise<string[]>;
  /** Moves the write-ahead log into the database, where there is one and nothing stands in the way. */
  checkpoint(): Promise<void>;
  /** Rows of owners, keys and sign-ins whose earlier state was put back, or that were added or removed; empty when all is well. */
  findRolledBackRows(): Promise<string[]>;
  /** Takes all such rows as they are for valid, on the word of the operator; says how many there are. */
  trustRows(): Promise<number>;
  /** For the day after an upgrade: takes over rows that servers of the version before wrote. To be called often. */
  takeOverRows(): Promise<void>;
  close(): Promise<void>;
}
