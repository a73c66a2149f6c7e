// Emails about what opens an account or leads to it. They go out after the response: whether one can be sent changes nothing
// for the request, and how long it takes tells nobody anything.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Owner } from '../../usecases/ports/index.ts';
import { type ConsoleApiParts, MailNotSent, type SecurityNotice } from '../deps.ts';

type Parts = Pick<ConsoleApiParts, 'mailer' | 'addresses' | 'onMailFailed' | 'onError'>;

/** `owner` as they were before: news of another address goes to the old one. */
export function sendSecurityNotice(
  { mailer, addresses, onMailFailed, onError }: Parts,
  { request, owner, notice }: { request: FastifyRequest; owner: Owner; notice: SecurityNotice },
  reply: FastifyReply,
): void {
  const { email } = owner;
  if (mailer === null || email === null) return;
  const settingsUrl = `${addresses.mailedConsoleUrl()}/settings`;
  reply.raw.once('close', () => {
    mailer.sendSecurityNotice({ ...owner, email }, notice, settingsUrl).catch((error: unknown) => {
      if (error instanceof MailNotSent) onMailFailed(error.message);
      else onError(error, request);
    });
  });
}
