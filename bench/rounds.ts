/** Rotates the order, so that each comes first in some round: later ones find a warmer machine and a larger store. */
export function rotated<T>(items: readonly T[], by: number): T[] {
  return items.map((_, index) => items[(index + by) % items.length] as T);
}
