// User verification of passkeys. A lost security key without verification gives full access, so operators need a passkey
// that verifies its user by a PIN or biometrics.

import type { Owner } from './ports/index.ts';
import type { Passkey } from './ports/sign-in.ts';

/**
 * An upgrade locks no operator out: a passkey that was created before the requirement works without verification until
 * its operator has a verified one.
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
