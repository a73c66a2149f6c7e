// Emails about changes that give access to an account. They are sent after the response: a failure does not affect the
// request, and the response time reveals nothing.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Owner } from '../../usecases/ports/index.ts';
import { type ConsoleApiDeps, EmailNotSent, type SecurityNotice } from '../deps.ts';

type Deps = Pick<ConsoleApiDeps, 'mailer' | 'addresses' | 'onEmailFailed' | 'onError'>;

/** `owner` is the owner before the change: the notice of a new email address goes to the old one. */
export function sendSecurityNotice(
  { mailer, addresses, onEmailFailed, onError }: Deps,
  { request, owner, notice }: { request: FastifyRequest; owner: Owner; notice: SecurityNotice },
  reply: FastifyReply,
): void {
  const { email } = owner;
  if (mailer === null || email === null) return;
  const settingsUrl = `${addresses.emailedConsoleUrl()}/settings`;
  reply.raw.once('close', () => {
    mailer.sendSecurityNotice({ ...owner, email }, notice, settingsUrl).catch((error: unknown) => {
      if (error instanceof EmailNotSent) onEmailFailed(error.message);
      else onError(error, request);
    });
  });
}
