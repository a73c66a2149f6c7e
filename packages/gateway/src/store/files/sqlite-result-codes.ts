// Result codes of SQLite, and the busy timeout.

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

/** Whether another process has a lock. After any other error the state of the connection is uncertain. */
export function isContention(error: unknown): boolean {
  const primary = primaryCode(error);
  return primary === resultCodes.busy || primary === resultCodes.locked;
}

/** The low byte of an extended result code is the primary result code. */
export function primaryCode(error: unknown): number | undefined {
  const extended = (error as { errcode?: unknown }).errcode;
  return typeof extended === 'number' ? extended & 0xff : undefined;
}
