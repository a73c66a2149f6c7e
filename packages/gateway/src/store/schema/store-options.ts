import type { AcceptedContent } from '@tocsin/contract';
import type { GivenMasterKeys } from '../../core/master-key-format.ts';
import type { OnBatch } from './database.ts';

export interface StoreOptions {
  dataDir: string;
  /** URL of PostgreSQL; null: SQLite in the data directory. The master key can be in the data directory either way. */
  databaseUrl?: string | null;
  masterKey: GivenMasterKeys | null;
  /** Called with advice if this process lacks an active master key. */
  onMasterKeyMissing?: (message: string) => void;
  /** Called with advice if a newer version has extended the schema. */
  onNewerSchema?: (message: string) => void;
  /** Called for rows that are refused because they were rolled back. */
  onRowRefused?: (message: string) => void;
  onBatch?: OnBatch;
  /** Called if the disk is full and nothing can be stored now; without it, opening the store fails. */
  onFull?: () => void;
  parseContent?: ParseContent;
}

/** Parses the plaintext of a notification. It returns a promise if that could take long. */
export type ParseContent = (plaintext: Buffer) => AcceptedContent | Promise<AcceptedContent>;
