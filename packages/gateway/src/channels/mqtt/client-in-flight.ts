// Which publishes wait for an acknowledgement, and which for their turn: mqtt.js does not keep to the number that an
// MQTT 5 broker wants to have in flight (Receive Maximum), and the broker hangs up on those who do not. Publishes that wait
// are sent when half of that number is acknowledged: one write for many of them costs a fraction of a write for each.
import type { Qos } from '@tocsin/contract';
import type { PublishResult } from './publisher.ts';

type Settle = (result: PublishResult) => void;
type Send = (settle: Settle) => void;

/** Also where the broker sets no bound. */
const mostInFlight = 1000;

export class InFlight {
  readonly #limit: number;
  /** With at most this number in flight, waiting publishes are sent. */
  readonly #refillAt: number;
  readonly #unsettled = new Set<Settle>();
  readonly #waiting = new Set<() => void>();
  #held = 0;
  #isOver = false;
  #isStarting = false;

  constructor(receiveMaximum: number | undefined) {
    this.#limit = Math.min(receiveMaximum ?? mostInFlight, mostInFlight);
    this.#refillAt = Math.floor(this.#limit / 2);
  }

  add(qos: Qos, signal: AbortSignal, send: Send): Promise<PublishResult> {
    if (this.#isOver) return Promise.resolve({ kind: 'lost' });
    if (signal.aborted) return Promise.resolve({ kind: 'late' });
    return new Promise((resolve) => {
      const settle: Settle = (result) => {
        if (!this.#unsettled.delete(settle)) return;
        this.#waiting.delete(start);
        signal.removeEventListener('abort', abort);
        resolve(result);
      };
      const abort = (): void => settle({ kind: 'late' });
      const start = (): void => {
        if (qos > 0) this.#held++;
        send((result) => {
          settle(result);
          // Also if no caller waits for the acknowledgement: the broker had the message in flight until now.
          if (qos > 0) this.#release();
        });
      };
      this.#unsettled.add(settle);
      signal.addEventListener('abort', abort, { once: true });
      // Others that wait are first, so that the order is kept.
      if (qos === 0 || (this.#held < this.#limit && this.#waiting.size === 0)) start();
      else this.#waiting.add(start);
    });
  }

  /** Publishes that the broker has not answered. */
  get size(): number {
    return this.#unsettled.size;
  }

  /** The connection is over: nothing that is still open will be answered. */
  endAll(): void {
    this.#isOver = true;
    for (const settle of [...this.#unsettled]) settle({ kind: 'lost' });
  }

  #release(): void {
    this.#held--;
    // A publish that fails at once gives its place back while this loop runs; a call for each would fill the stack.
    if (this.#isStarting || this.#held > this.#refillAt) return;
    this.#isStarting = true;
    for (const start of this.#waiting) {
      if (this.#isOver || this.#held >= this.#limit) break;
      this.#waiting.delete(start);
      start();
    }
    this.#isStarting = false;
  }
}
