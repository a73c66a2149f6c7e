// Links that are sent by email. Their address is never taken from a request, because its Host header could name another host.
import { linkLifetimes, makeLink } from '../../usecases/one-time-links.ts';
import type { Owner } from '../../usecases/ports/index.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';

type Deps = Pick<ConsoleApiDeps, 'store' | 'now' | 'addresses' | 'mailer'>;

/** Resolves when the SMTP server has accepted the email. */
export async function emailSignInLink(
  deps: Deps,
  owner: Owner & { email: string },
  lifetimeMs: number = linkLifetimes.mail,
): Promise<void> {
  const wanted = { ownerId: owner.id, method: 'mail', lifetimeMs, now: deps.now() } as const;
  const { url } = await makeLink(deps.store, wanted, deps.addresses.emailedConsoleUrl());
  await mailerOf(deps).sendSignInLink(owner, url);
}

/** Opening the link makes the address that of the owner. */
export async function emailConfirmation(deps: Deps, owner: Owner, email: string): Promise<void> {
  const lifetimeMs = linkLifetimes.confirmation;
  const wanted = { ownerId: owner.id, method: 'mail', confirms: email, lifetimeMs, now: deps.now() } as const;
  const { url } = await makeLink(deps.store, wanted, deps.addresses.emailedConsoleUrl());
  await mailerOf(deps).sendEmailConfirmation(owner, email, url);
}

function mailerOf({ mailer }: Deps): NonNullable<Deps['mailer']> {
  if (mailer === null) throw new ConsoleRefusal('conflict', 'No SMTP server is configured.');
  return mailer;
}
