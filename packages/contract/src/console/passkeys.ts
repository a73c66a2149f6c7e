// The passkeys of an owner.
import type { Operation } from './route.ts';
import { anyObject, array, flag, integer, nullable, object, type TypeOf, text } from './schema.ts';
import { credential } from './sign-in.ts';

const passkeyEntry = object({
  id: text(),
  name: text(),
  /** Whether it verified its user by PIN, fingerprint or face; null: not recorded yet. */
  userVerified: nullable(flag()),
  createdAt: integer(),
  usedAt: nullable(integer()),
});
export type PasskeyEntry = TypeOf<typeof passkeyEntry>;

export const passkeyOperations = {
  listPasskeys: { response: object({ passkeys: array(passkeyEntry) }) },
  /** PublicKeyCredentialCreationOptionsJSON */
  getPasskeyOptions: { response: anyObject() },
  /** The credential is a RegistrationResponseJSON. */
  addPasskey: { body: object({ name: text({ line: 100 }), credential }), status: 201, response: passkeyEntry },
  deletePasskey: { status: 204 },
} as const satisfies Record<string, Operation>;
