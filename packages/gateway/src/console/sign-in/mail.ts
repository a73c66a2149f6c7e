// A sign-in link by mail. Whoever asks is told the same, and as fast, whether or not anybody has that address.
import type { FastifyInstance } from 'fastify';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { limitUnit } from '../../core/rate-limit-key.ts';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import { type ConsoleApiParts, MailNotSent } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { mailSignInLink } from './mailed-links.ts';
import { ownersWithEmail } from './owners-with-email.ts';

const schema = {
  body: {
    type: 'object',
    required: ['email'],
    properties: { email: { type: 'string', minLength: 3, maxLength: 254 } },
  },
};

export function addMailRoute(api: FastifyInstance, parts: ConsoleApiParts): void {
  const asked = new RateLimiterMemory({ keyPrefix: 'asked', points: 10, duration: 60 });
  const mailed = new RateLimiterMemory({ keyPrefix: 'mailed', points: 3, duration: 15 * 60 });

  async function mailLinks(address: string): Promise<void> {
    const wanted = address.trim().toLowerCase();
    for (const owner of await ownersWithEmail(parts.store.owners, wanted)) {
      if (await isWithin(mailed, wanted)) await mailSignInLink(parts, owner);
    }
  }

  api.post<{ Body: { email: string } }>(
    '/sign-in/mail',
    { schema, config: { isPublic: true } },
    async (request, reply) => {
      if (!(await isWithin(asked, limitUnit(parts.clientAddress(request)))))
        throw new ConsoleRefusal('rate_limited', 'That was often. Wait a minute, then ask for a link again.');
      // Only when the answer is out: how long the rest takes would tell who is known here.
      if (parts.mailer !== null)
        reply.raw.once('close', () => {
          mailLinks(request.body.email).catch((error: unknown) => {
            if (error instanceof MailNotSent || error instanceof StoreUnavailable) parts.onMailFailed(error.message);
            else parts.onError(error, request);
          });
        });
      return reply.code(202).send({ ok: true });
    },
  );
}

/** The library rejects with the state where the limit is reached. */
async function isWithin(limiter: RateLimiterMemory, key: string): Promise<boolean> {
  try {
    await limiter.consume(key);
    return true;
  } catch (error) {
    if (error instanceof Error) throw error;
    return false;
  }
}
