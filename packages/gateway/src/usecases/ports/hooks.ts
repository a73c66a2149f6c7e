// Hooks: addresses that senders post their events to.
import type { Rate, Severity } from '@tocsin/contract';

export interface Hook {
  id: string;
  ownerId: string;
  /** Also the source of its notifications. */
  name: string;
  /** Name of a preset, `auto` or `generic`. */
  preset: string;
  /** The newest first; older ones are accepted until they expire. */
  tokens: readonly HookToken[];
  /** The signing secret; null: signatures are not checked. */
  secret: string | null;
  /** For events that have no severity. */
  severity: Severity | null;
  /** Channels by name that its events are not sent to. */
  disabledChannels: readonly string[];
  rateLimit: Rate | null;
  /** An identical body without a delivery id is the same delivery for this long. */
  repeatSeconds: number;
  /** GET is accepted too. */
  allowsGet: boolean;
  createdAt: number;
  disabledAt: number | null;
}

export interface HookToken {
  digest: string;
  /** null: until the hook is deleted or its token rotated. */
  expiresAt: number | null;
}

export interface HookRepository {
  create(hook: Hook): Promise<void>;
  /** By the digest of a token, expired or not. */
  find(digest: string): Promise<Hook | null>;
  /** Rejects if a row cannot be decrypted, unless `onDamaged` is given, which is called with its id instead. */
  list(ownerId: string, onDamaged?: (id: string) => void): Promise<Hook[]>;
  /** Calls `change` again if the hook was changed concurrently; null if there is no such hook. */
  change(id: string, change: (hook: Hook) => Hook): Promise<Hook | null>;
  delete(id: string): Promise<boolean>;
}
