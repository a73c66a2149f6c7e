/** Reads environment variables; `parse` returns undefined for invalid text, which becomes a problem that is reported. */
export interface SettingsReader {
  value<T>(name: string, fallback: T, wanted: string, parse: (text: string) => T | undefined): T;
  /** Like `value`, but the value may also be in the file that the variable with the suffix _FILE names. */
  secret<T>(name: string, wanted: string, parse: (text: string) => T | undefined): T | null;
  problem(text: string): void;
}

export function parseInteger(text: string, least: number, most: number): number | undefined {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : undefined;
}

/** Below the limit of one send, or the channel could not report that its provider was too slow. */
const maxTimeoutMs = 9000;
export const timeoutWanted = `a number of milliseconds from 100 to ${maxTimeoutMs}`;

export function parseTimeout(text: string): number | undefined {
  return parseInteger(text, 100, maxTimeoutMs);
}
