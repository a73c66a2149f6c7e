// Keeps the failure of one provider from affecting everything else: a limit on concurrent sends, and a circuit breaker that
// fails sends at once while the provider is known to be down.
import {
  BrokenCircuitError,
  BulkheadRejectedError,
  bulkhead,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhenResult,
} from 'cockatiel';
import type { BreakerState, Channel, ChannelTarget } from '../core/channel.ts';
import { isUnreachable, type Outcome, type Retry, type RetryReason, retry } from '../core/outcome.ts';

export interface GuardOptions {
  /** For people, at the start of a sentence: "The email server". */
  provider: string;
  timeoutMs: number;
  /** Sends that run at once; as many again may wait. */
  maxConcurrent: number;
  /** Consecutive failures to reach the provider that open the breaker. */
  failuresToOpen?: number;
  /** How long the breaker stays open before one send is attempted. */
  openMs?: number;
  /** Calls back whenever the provider is known to be reachable again: the breaker then closes at once. */
  onReachable?: (close: () => void) => void;
  /** `cause` is the error of the last failure to reach the provider. */
  onStateChange?: (state: BreakerState, cause: string) => void;
}

/** A channel settles when its signal aborts; after this the guard does not wait for it any longer. */
const graceMs = 250;

export function guard<Target extends ChannelTarget>(channel: Channel<Target>, options: GuardOptions): Channel<Target> {
  const { provider, timeoutMs, maxConcurrent, failuresToOpen = 5, openMs = 10_000, onStateChange } = options;
  const slots = bulkhead(maxConcurrent, maxConcurrent);
  const breaker = circuitBreaker(
    handleWhenResult((result) => isOutage(result as readonly Outcome[])),
    { halfOpenAfter: openMs, breaker: new ConsecutiveBreaker(failuresToOpen) },
  );
  options.onReachable?.(() => breaker.isolate().dispose());
  let cause = '';
  breaker.onStateChange((state) => {
    // The breaker is isolated only for a moment, when `onReachable` closes it.
    if (state !== CircuitState.Isolated) onStateChange?.(breakerState(state), cause);
  });

  return {
    ...channel,
    timeoutMs: () => timeoutMs,

    async send(notification, targets, sendOptions, signal) {
      const failAll = (reason: RetryReason, error: string): readonly Outcome[] =>
        targets.map(() => retry(reason, error));
      const late = () => failAll('unreachable', `${provider} did not respond in time`);
      try {
        return await slots.execute(() =>
          breaker.execute(async () => {
            const outcomes = await settleBy(signal, channel.send(notification, targets, sendOptions, signal), late);
            if (isOutage(outcomes)) cause = (outcomes[0] as Retry).error;
            return outcomes;
          }),
        );
      } catch (error) {
        if (error instanceof BrokenCircuitError) {
          return failAll('circuit_open', `${provider} is not reachable at the moment`);
        }
        if (error instanceof BulkheadRejectedError) {
          return failAll('not_attempted', `${provider}: too many messages are waiting`);
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

/** One target that is reached shows that the provider is reachable. */
function isOutage(outcomes: readonly Outcome[]): boolean {
  return outcomes.length > 0 && outcomes.every(isUnreachable);
}

function settleBy<T>(signal: AbortSignal, work: Promise<T>, late: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    let grace: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      grace = setTimeout(() => resolve(late()), graceMs);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', onAbort);
      clearTimeout(grace);
    });
  });
}
