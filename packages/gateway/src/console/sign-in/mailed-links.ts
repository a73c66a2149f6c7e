// Links that go out by mail. Where they lead to is never taken from a request: whoever asks could name another host.
import { linkLifetimes, makeLink } from '../../usecases/one-time-links.ts';
import type { Owner } from '../../usecases/ports/index.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';

type Parts = Pick<ConsoleApiParts, 'store' | 'now' | 'addresses' | 'mailer'>;

/** Resolves when the mail server took it. */
export async function mailSignInLink(
  parts: Parts,
  owner: Owner & { email: string },
  lifetimeMs: number = linkLifetimes.mail,
): Promise<void> {
  const wanted = { ownerId: owner.id, method: 'mail', lifetimeMs, now: parts.now() } as const;
  const { url } = await makeLink(parts.store, wanted, parts.addresses.mailedConsoleUrl());
  await mailerOf(parts).sendSignInLink(owner, url);
}

/** Whoever opens the link makes the address that of the owner. */
export async function mailConfirmation(parts: Parts, owner: Owner, email: string): Promise<void> {
  const lifetimeMs = linkLifetimes.confirmation;
  const wanted = { ownerId: owner.id, method: 'mail', confirms: email, lifetimeMs, now: parts.now() } as const;
  const { url } = await makeLink(parts.store, wanted, parts.addresses.mailedConsoleUrl());
  await mailerOf(parts).sendEmailConfirmation(owner, email, url);
}

function mailerOf({ mailer }: Parts): NonNullable<Parts['mailer']> {
  if (mailer === null) throw new ConsoleRefusal('conflict', 'No mail server is configured.');
  return mailer;
}
