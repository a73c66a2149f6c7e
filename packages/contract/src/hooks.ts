// Hooks: addresses for senders that cannot send a key or the fields of the contract (docs/senders.md).

export const hookPrefix = 'hook_';
/** The first segment of the path of a hook. */
export const hookPath = '/in/';

export const hookLimits = {
  nameCharacters: 80,
  secretCharacters: 512,
  /** After decompression. */
  requestBytes: 1024 * 1024,
  /** An identical body without a delivery id is the same delivery for this long. */
  repeatSeconds: 120,
  maxRepeatSeconds: 24 * 60 * 60,
} as const;
