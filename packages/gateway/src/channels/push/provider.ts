import { type NotSent, type Outcome, retry } from '../../core/outcome.ts';
import type { Notification } from '../../usecases/ports/index.ts';

/** Sends one prepared notification to one token. May reject with a Failure; the channel turns it into its outcome. */
export type SendTo = (token: string, signal: AbortSignal) => Promise<Outcome>;

export interface PushProvider {
  /** For people. */
  name: string;
  /** Formats the notification once for all its tokens. */
  prepare(notification: Notification): SendTo;
  /** Resolves when the provider can be used now; rejects with a Failure that says what is wrong. */
  check(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** An attempt that ended early, with the outcome it has. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly outcome: NotSent;

  constructor(outcome: NotSent) {
    super(outcome.error);
    this.outcome = outcome;
  }
}

/** A stored token that its provider could never take: it is not even asked. */
export function invalidToken(provider: string, problem: string): NotSent {
  return { kind: 'rejected', reason: 'invalid_target', error: `The stored ${provider} token is not valid: ${problem}` };
}

/** Another try may work; `retryAfterMs` where the provider said when. */
export function retryLater(error: string, retryAfterMs: number | undefined): NotSent {
  return retry('deferred', error, retryAfterMs);
}
