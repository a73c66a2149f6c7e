import type { Store } from '../../usecases/ports/index.ts';
import { EmailNotSent } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { ownersWithEmail } from '../sign-in/owners-with-email.ts';

/** Owners sign in by their address, so two owners must not share one. An owner that cannot be decrypted is not compared. */
export async function assertEmailUnused(
  store: Pick<Store, 'owners'>,
  email: string | null,
  exceptOwnerId?: string,
): Promise<void> {
  if (email === null) return;
  const isTaken = (await ownersWithEmail(store.owners, email)).some((owner) => owner.id !== exceptOwnerId);
  if (isTaken) throw new ConsoleRefusal('conflict', 'Another owner has this email address.');
}

/** Refuses the request if the email is not sent. The user sees the failure, so it is not logged. */
export async function sendOrRefuse(
  sending: Promise<void>,
  message = 'The SMTP server did not accept the email. Try again in a moment.',
): Promise<void> {
  try {
    await sending;
  } catch (error) {
    if (!(error instanceof EmailNotSent)) throw error;
    throw new ConsoleRefusal('unavailable', message);
  }
}
