import { isOneAddress } from '../../core/email-address.ts';
import type { Store } from '../../usecases/ports/index.ts';
import { MailNotSent } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { ownersWithEmail } from '../sign-in/owners-with-email.ts';
import type { Fields } from './fields.ts';

export function checkAddress(fields: Fields, email: string | null): void {
  if (email !== null && !isOneAddress(email)) {
    fields.wrong('email', 'must be one plain address, such as ann@example.com');
  }
}

/** Two owners with one address could not be told apart when they sign in. */
export async function checkIsFree(
  store: Pick<Store, 'owners'>,
  email: string | null,
  exceptOwnerId?: string,
): Promise<void> {
  if (email === null) return;
  // Of one that does not open nobody knows the address.
  const isTaken = (await ownersWithEmail(store.owners, email)).some((owner) => owner.id !== exceptOwnerId);
  if (isTaken) throw new ConsoleRefusal('conflict', 'There is an owner with this e-mail address already.');
}

/** A mail that was not taken is nothing that the log need tell of: whoever waits for it is told. */
export async function mailed(
  sending: Promise<void>,
  whenNot = 'The mail server did not take the mail. Try again in a moment.',
): Promise<void> {
  try {
    await sending;
  } catch (error) {
    if (!(error instanceof MailNotSent)) throw error;
    throw new ConsoleRefusal('unavailable', whenNot);
  }
}
