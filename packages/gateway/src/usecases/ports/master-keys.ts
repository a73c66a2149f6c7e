// The master key, its rotation, and secrets that are encrypted with it.

export interface MasterKeyStatus {
  /** Where this process reads its keys from. */
  source: string;
  /** Active versions, newest first, with the number of values encrypted with each; two during a rotation. */
  versions: readonly { version: number; values: number }[];
  /** Keys in the source that are not active: retired ones, or the next one. */
  spareKeys: number;
  /** The first key is a new one: the next rotation activates it. */
  nextKeyGiven: boolean;
}

export interface RotationProgress {
  step: 'key_ready' | 'key_in_use' | 'resealing' | 'old_key_retired';
  /** Number of values re-encrypted so far. */
  resealed?: number;
}

export interface RotationOptions {
  onProgress?: (progress: RotationProgress) => void;
  /** File to save the old key to, for older backups; default: beside the key file, if this process writes that. */
  oldKeyFile?: string;
  /** Do not save the old key. */
  discardOldKey?: boolean;
}

export interface RotationReport {
  /** The active version. */
  version: number;
  /** The versions that were active before. */
  retired: readonly number[];
  /** Number of values re-encrypted. */
  resealed: number;
  /** File with the old key; null if it was not saved, or the operator keeps it. */
  oldKeyFile: string | null;
  /** Values that cannot be decrypted and were not changed. */
  damaged: readonly string[];
  /** Steps left for the operator. */
  todo: readonly string[];
}

/** Secrets of the service itself, encrypted with the master key. */
export interface SecretRepository {
  /** Creates the secret at the first call; all processes get the same one. */
  obtain(name: string, make: () => string): Promise<string>;
  /** null if it was never created, or was deleted. */
  find(name: string): Promise<string | null>;
  delete(name: string): Promise<void>;
}

export interface MasterKeyRepository {
  status(): Promise<MasterKeyStatus>;
  /** Rotates the master key while servers are running; resumes an interrupted rotation. */
  rotate(options?: RotationOptions): Promise<RotationReport>;
}
