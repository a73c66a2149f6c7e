// The browsers in which an owner is signed in.
import type { Operation } from './route.ts';
import { array, flag, integer, object, oneOf, type TypeOf, text } from './schema.ts';

const sessionEntry = object({
  id: text(),
  method: oneOf(['link', 'mail', 'passkey', 'oidc']),
  userAgent: text(),
  address: text(),
  createdAt: integer(),
  seenAt: integer(),
  /** The session of this request. */
  isThisOne: flag(),
});
export type SessionEntry = TypeOf<typeof sessionEntry>;

export const sessionOperations = {
  listSessions: { response: object({ sessions: array(sessionEntry) }) },
  deleteSession: { status: 204 },
  signOutOthers: { response: object({ count: integer() }) },
} as const satisfies Record<string, Operation>;
