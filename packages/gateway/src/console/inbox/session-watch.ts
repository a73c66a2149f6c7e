import type { FastifyRequest } from 'fastify';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { isStillSignedIn } from '../sign-in/session.ts';
import { signedIn } from '../signed-in.ts';

const lookEveryMs = 4000;

export interface SessionWatch {
  /** Looks now; whoever is about to be told something must still be signed in. Rejects where the store is away. */
  isOn(): Promise<boolean>;
  stop(): void;
}

/** For answers that go on for long: says so when the session they were begun with is over. */
export function watchSession(parts: ConsoleApiParts, request: FastifyRequest, onOver: () => void): SessionWatch {
  const { session } = signedIn(request);
  const isOn = async (): Promise<boolean> => {
    const isSignedIn = await isStillSignedIn(parts, session);
    if (!isSignedIn) onOver();
    return isSignedIn;
  };
  const timer = setInterval(() => {
    isOn().catch((error: unknown) => {
      // A store that is away decides nothing.
      if (!(error instanceof StoreUnavailable)) parts.onError(error, request);
    });
  }, lookEveryMs);
  return { isOn, stop: () => clearInterval(timer) };
}
