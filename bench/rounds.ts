/**
 * The order of one round. Each item comes first in some round, and after every neighbour equally often: later ones find a
 * warmer machine and a larger store.
 */
export function orderOf<T>(items: readonly T[], round: number): T[] {
  const rotated = items.map((_, index) => items[(index + Math.floor(round / 2)) % items.length] as T);
  return round % 2 === 0 ? rotated : rotated.reverse();
}
