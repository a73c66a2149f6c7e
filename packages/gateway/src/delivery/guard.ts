// What keeps one channel's trouble from becoming everybody's: a deadline, a bound on what runs at once, and a breaker
// that fails at once while the provider is known to be down.
import {
  BrokenCircuitError,
  BulkheadRejectedError,
  bulkhead,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhenResult,
} from 'cockatiel';
import { createDeadline } from '../core/deadline.ts';
import { isUnreachable, type Outcome, type Retry, type RetryReason, retry } from '../core/outcome.ts';
import type { Channel } from '../usecases/ports/index.ts';

export interface GuardOptions {
  /** For people, at the start of a sentence: "The mail server". */
  provider: string;
  timeoutMs: number;
  /** Sends that run at once; as many again may wait for their turn. */
  maxConcurrent: number;
  /** So many failures to reach the provider in a row open the breaker. */
  failuresToOpen?: number;
  /** How long it stays open before one send may try again. */
  openMs?: number;
  /** Calls back whenever the provider is known to be there again: then nobody waits for the breaker. */
  whenBack?: (close: () => void) => void;
  /** `cause` is what was said of the last failure to reach the provider. */
  onStateChange?: (state: BreakerState, cause: string) => void;
}

export type BreakerState = 'closed' | 'half_open' | 'open';

/** A channel settles when its signal aborts; one that does not is left behind after this. */
const graceMs = 250;

export function guard<Target>(channel: Channel<Target>, options: GuardOptions): Channel<Target> {
  const { provider, timeoutMs, maxConcurrent, failuresToOpen = 5, openMs = 10_000, onStateChange } = options;
  const slots = bulkhead(maxConcurrent, maxConcurrent);
  const breaker = circuitBreaker(
    handleWhenResult((result) => isOutage(result as readonly Outcome[])),
    { halfOpenAfter: openMs, breaker: new ConsecutiveBreaker(failuresToOpen) },
  );
  options.whenBack?.(() => breaker.isolate().dispose());
  let cause = '';
  breaker.onStateChange((state) => {
    // Isolated is how `whenBack` closes it, and over at once.
    if (state !== CircuitState.Isolated) onStateChange?.(breakerState(state), cause);
  });

  return {
    async send(notification, targets, sendOptions, requestSignal) {
      const failAll = (reason: RetryReason, error: string): readonly Outcome[] =>
        targets.map(() => retry(reason, error));
      using deadline = createDeadline(timeoutMs, requestSignal);
      const { signal } = deadline;
      const late = () => failAll('unreachable', `${provider} did not answer in time`);
      try {
        return await slots.execute(() =>
          breaker.execute(async () => {
            const outcomes = await settleBy(signal, channel.send(notification, targets, sendOptions, signal), late);
            const [first] = outcomes;
            if (isOutage(outcomes)) cause = (first as Retry).error;
            return outcomes;
          }),
        );
      } catch (error) {
        if (error instanceof BrokenCircuitError) {
          return failAll('circuit_open', `${provider} is not reachable at the moment`);
        }
        if (error instanceof BulkheadRejectedError) {
          return failAll('not_attempted', `${provider}: too much is waiting`);
        }
        throw error;
      }
    },
  };
}

function breakerState(state: CircuitState): BreakerState {
  if (state === CircuitState.Closed) return 'closed';
  return state === CircuitState.HalfOpen ? 'half_open' : 'open';
}

/** One target that is reached shows that the provider is there. */
function isOutage(outcomes: readonly Outcome[]): boolean {
  return outcomes.length > 0 && outcomes.every(isUnreachable);
}

function settleBy<T>(signal: AbortSignal, work: Promise<T>, late: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    let grace: NodeJS.Timeout | undefined;
    const giveUp = (): void => {
      grace = setTimeout(() => resolve(late()), graceMs);
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
    work.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', giveUp);
      clearTimeout(grace);
    });
  });
}
