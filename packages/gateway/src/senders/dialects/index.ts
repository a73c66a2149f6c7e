// The one list of dialects: the protocols of other notification servers.
import type { Dialect, DialectAddress } from '../event.ts';
import { apprise } from './apprise.ts';
import { gotify } from './gotify.ts';
import { ntfy } from './ntfy.ts';

export const dialects: readonly Dialect[] = [gotify, apprise, ntfy];

/** The dialect that an address belongs to, whatever the body; null: none. */
export function dialectAt(address: DialectAddress): Dialect | null {
  return dialects.find((dialect) => dialect.isAt(address)) ?? null;
}
