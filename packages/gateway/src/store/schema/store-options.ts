import type { GivenMasterKeys } from '../../core/master-key-format.ts';
import type { OnBatch } from './database.ts';

export interface StoreOptions {
  dataDir: string;
  /** PostgreSQL; null: SQLite in the data directory. The master key may lie in the data directory either way. */
  databaseUrl?: string | null;
  masterKey: GivenMasterKeys | null;
  /** Hears what to do when a master key comes into use that this process does not have. */
  onMasterKeyMissing?: (message: string) => void;
  /** Called where a newer version has extended the schema, with what to do. */
  onNewerSchema?: (message: string) => void;
  /** Hears of rows that are refused because an earlier state of them was put back. */
  onRowRefused?: (message: string) => void;
  onBatch?: OnBatch;
  /** Hears that the disk is full and nothing can be stored now; without it such a store is not opened. */
  onFull?: () => void;
}
