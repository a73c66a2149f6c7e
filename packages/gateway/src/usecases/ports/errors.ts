// What a store says when it cannot do what was asked.

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
