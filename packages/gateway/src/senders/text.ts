// Text of events, built from members that may be missing.
import { limits } from '@tocsin/contract';

/** The given lines; undefined if there is none. */
export function joinLines(...lines: readonly (string | undefined)[]): string | undefined {
  const given = lines.filter((line) => line !== undefined);
  return given.length === 0 ? undefined : given.join('\n');
}

/** `issue 5001`: ids of different kinds of things never make the same key. */
export function keyOf(kind: string, id: string | undefined): string | undefined {
  return id === undefined ? undefined : `${kind} ${id}`;
}

export function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** What happened, for senders that name it by the verb. */
const participles: Readonly<Record<string, string>> = {
  open: 'opened',
  close: 'closed',
  reopen: 'reopened',
  create: 'created',
  update: 'updated',
  delete: 'deleted',
  remove: 'removed',
  merge: 'merged',
  dismiss: 'dismissed',
  resolve: 'resolved',
  suspend: 'suspended',
  unsuspend: 'unsuspended',
};

/** `in_progress` → `in progress`, `create` → `created`. */
export function wordsOf(identifier: string): string {
  if (Object.hasOwn(participles, identifier)) return participles[identifier] ?? identifier;
  return shorten(identifier).replaceAll(/[_-]+/g, ' ').trim();
}

/** Joins what is there. */
export function phrase(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join(' ');
}

/** `partiallySucceeded` → `partially succeeded`. */
export function splitCamelCase(identifier: string): string {
  return shorten(identifier).replaceAll(/(?<=[a-z])[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`);
}

/** A title has no room for more, and a hostile body of one long word must not cost more time. */
function shorten(identifier: string): string {
  return identifier.slice(0, limits.titleCharacters);
}
