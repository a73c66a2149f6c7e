/** Everything comes first in some round: what comes later finds a warmer machine and a larger store. */
export function rotated<T>(items: readonly T[], by: number): T[] {
  return items.map((_, index) => items[(index + by) % items.length] as T);
}
