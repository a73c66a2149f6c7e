import type { JsonValue } from '@tocsin/contract';

/** null and blank text count as absent. */
export function isAbsent(value: JsonValue | undefined): value is null | undefined {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}
