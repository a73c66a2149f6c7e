import type { FastifyRequest } from 'fastify';
import { StoreUnavailable } from '../../gateway/ports.ts';
import type { ConsoleApiParts } from '../parts.ts';
import { isStillSignedIn } from '../sign-in/session.ts';
import { signedIn } from '../signed-in.ts';

const lookEveryMs = 4000;

/** For answers that go on for long: says so when the session they were begun with is over. Returns the function that ends it. */
export function watchSession(parts: ConsoleApiParts, request: FastifyRequest, onOver: () => void): () => void {
  const { session } = signedIn(request);
  const look = async (): Promise<void> => {
    try {
      if (!(await isStillSignedIn(parts, session))) onOver();
    } catch (error) {
      // A store that is away decides nothing.
      if (!(error instanceof StoreUnavailable)) parts.onError(error, request);
    }
  };
  const timer = setInterval(() => void look(), lookEveryMs);
  return () => clearInterval(timer);
}
