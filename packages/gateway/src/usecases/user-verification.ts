// Whether a passkey is enough. Whoever finds a security key that asks for nothing has all that it opens, so operators need
// one that verifies its user: by a PIN, a fingerprint or a face.

import type { Owner } from './ports/index.ts';
import type { Passkey } from './ports/sign-in.ts';

/**
 * Nobody is locked out by an upgrade: a passkey from before this was asked for goes on working without verification until
 * its operator has one that verifies.
 */
export function mayUseUnverified(owner: Owner, passkey: Passkey, passkeys: readonly Passkey[]): boolean {
  if (owner.role !== 'operator') return true;
  return passkey.userVerified === null && passkeys.every(({ userVerified }) => userVerified !== true);
}

/** An operator whose passkeys have never verified their user is asked to add one that does. */
export function needsVerifiedPasskey(owner: Owner, passkeys: readonly Passkey[]): boolean {
  return (
    owner.role === 'operator' && passkeys.length > 0 && passkeys.every(({ userVerified }) => userVerified !== true)
  );
}
