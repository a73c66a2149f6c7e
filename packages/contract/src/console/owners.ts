// The owners of the service, for operators. No route returns the content of notifications or a way to sign in.
import type { Operation } from './route.ts';
import { array, integer, nullable, object, oneOf, type TypeOf, text } from './schema.ts';
import { optionalEmail } from './settings.ts';
import { ok } from './sign-in.ts';

const ownerOverview = object({
  id: text(),
  name: text(),
  email: nullable(text()),
  role: oneOf(['owner', 'operator']),
  createdAt: integer(),
  keys: integer(),
  devices: integer(),
  pushTargets: integer(),
  /** Deliveries that wait for a retry. */
  waiting: integer(),
  /** Deliveries whose retries have ended. */
  dead: integer(),
  /** When the newest notification was accepted. */
  newestAt: nullable(integer()),
});
export type OwnerOverview = TypeOf<typeof ownerOverview>;

const newOwner = object({ name: text({ line: 100 }), email: optionalEmail });
export type NewOwner = TypeOf<typeof newOwner>;

export const ownerOperations = {
  listOwners: { access: 'operator', response: object({ owners: array(ownerOverview) }) },
  /** Sends a sign-in link to the address, if there is one and an SMTP server is configured. */
  createOwner: { access: 'operator', body: newOwner, status: 201, response: ownerOverview },
  /** Sends a sign-in link to the address of the owner. */
  inviteOwner: { access: 'operator', status: 202, response: ok },
} as const satisfies Record<string, Operation>;
