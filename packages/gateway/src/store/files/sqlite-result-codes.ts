// Result codes of SQLite, and how long a statement waits for the lock of another process.

export const busyTimeoutMs = 2000;

/** Primary result codes, https://sqlite.org/rescode.html */
export const resultCodes = {
  busy: 5,
  locked: 6,
  ioError: 10,
  constraint: 19,
  sqlError: 1,
  misuse: 21,
  range: 25,
} as const;

/** True when only another process is in the way; anything else that fails may have left the connection in doubt. */
export function isContention(error: unknown): boolean {
  const primary = primaryCode(error);
  return primary === resultCodes.busy || primary === resultCodes.locked;
}

/** The low byte of an extended code says what happened, the rest how. */
export function primaryCode(error: unknown): number | undefined {
  const extended = (error as { errcode?: unknown }).errcode;
  return typeof extended === 'number' ? extended & 0xff : undefined;
}
