import type { Channel } from '../usecases/ports/index.ts';

/** Stands where a provider is not set up: every target fails, and the message says why. Nothing is skipped in silence. */
export function createNotConfigured<Target>(error: string): Channel<Target> {
  return {
    send: async (_notification, targets) => targets.map(() => ({ kind: 'rejected', reason: 'not_configured', error })),
  };
}
