// The master key, and what only it seals.

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
  /** Where the old key is kept, for backups from before; by default beside the key file, if that is written here. */
  oldKeyFile?: string;
  /** Does not keep it. */
  discardOldKey?: boolean;
}

export interface RotationReport {
  /** The version in use now. */
  version: number;
  /** The versions that were in use before. */
  retired: readonly number[];
  resealed: number;
  /** Where the old key was kept; null if it was not, or is in the operator's hands. */
  oldKeyFile: string | null;
  /** Values that do not open and were left as they are. */
  damaged: readonly string[];
  /** What is left to be done by hand. */
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
