import type { FastifyRequest } from 'fastify';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { isStillSignedIn } from '../sign-in/session.ts';
import { signedIn } from '../signed-in.ts';

const checkEveryMs = 4000;

export interface SessionWatch {
  /** Checks the session now, before data is sent. Rejects if the store is not available. */
  isOn(): Promise<boolean>;
  stop(): void;
}

/** For streaming responses: calls `onEnded` when the session of the request has ended. */
export function watchSession(deps: ConsoleApiDeps, request: FastifyRequest, onEnded: () => void): SessionWatch {
  const { session } = signedIn(request);
  const isOn = async (): Promise<boolean> => {
    const isSignedIn = await isStillSignedIn(deps, session);
    if (!isSignedIn) onEnded();
    return isSignedIn;
  };
  const timer = setInterval(() => {
    isOn().catch((error: unknown) => {
      // While the store is not available, the session is assumed to last.
      if (!(error instanceof StoreUnavailable)) deps.onError(error, request);
    });
  }, checkEveryMs);
  return { isOn, stop: () => clearInterval(timer) };
}
