// Errors of the store.

/** The operation failed and may succeed later: the database is locked, full, unreachable or too slow. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The data key of an owner is missing or cannot be decrypted with the master key. */
export class EncryptionKeyMissing extends Error {
  override readonly name = 'EncryptionKeyMissing';
}

/** An encrypted value cannot be decrypted: it was altered, moved to another row, or encrypted with another key. */
export class DecryptionFailed extends Error {
  override readonly name = 'DecryptionFailed';
}

/** There is a key with this value already. */
export class KeyExists extends Error {
  override readonly name = 'KeyExists';
}
