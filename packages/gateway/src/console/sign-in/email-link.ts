// Requests for a sign-in link by email. Response and response time do not depend on whether an owner has the address.
import { signInRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance } from 'fastify';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { rateLimitKey } from '../../core/rate-limit-key.ts';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import { type ConsoleApiDeps, EmailNotSent } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { addRoute } from '../route.ts';
import { emailSignInLink } from './emailed-links.ts';
import { ownersWithEmail } from './owners-with-email.ts';

export function addEmailLinkRoute(api: FastifyInstance, deps: ConsoleApiDeps): void {
  const requests = new RateLimiterMemory({ points: 10, duration: 60 });
  const emails = new RateLimiterMemory({ points: 3, duration: 15 * 60 });

  async function emailLinks(address: string): Promise<void> {
    const wanted = address.trim().toLowerCase();
    for (const owner of await ownersWithEmail(deps.store.owners, wanted)) {
      if (await isWithin(emails, wanted)) await emailSignInLink(deps, owner);
    }
  }

  addRoute(api, signInRoutes.requestLink, async (request, reply) => {
    if (!(await isWithin(requests, rateLimitKey(deps.clientAddress(request)))))
      throw new ConsoleRefusal('rate_limited', 'Too many requests. Try again in a minute.');
    // Runs after the response: its duration would reveal whether the address is known.
    if (deps.mailer !== null)
      reply.raw.once('close', () => {
        emailLinks(request.body.email).catch((error: unknown) => {
          if (error instanceof EmailNotSent || error instanceof StoreUnavailable) deps.onEmailFailed(error.message);
          else deps.onError(error, request);
        });
      });
    return { ok: true };
  });
}

/** The library rejects with its state when the limit is reached. */
async function isWithin(limiter: RateLimiterMemory, key: string): Promise<boolean> {
  try {
    await limiter.consume(key);
    return true;
  } catch (error) {
    if (error instanceof Error) throw error;
    return false;
  }
}
