// A few connections to the mail server that are kept open, one mail at a time on each. Each is a nodemailer pool of one:
// a pool of several cannot break off a single mail, and would send later what its caller has long given up.
import { createTransport, type SendMailOptions, type SMTPPoolOptions, type SMTPTransportOptions } from 'nodemailer';

const laneCount = 5;

/** The signal came first. What was started may or may not have reached the server. */
export class GivenUp extends Error {
  override readonly name = 'GivenUp';
  readonly wasStarted: boolean;

  constructor(wasStarted: boolean) {
    super('given up');
    this.wasStarted = wasStarted;
  }
}

export class LanesClosed extends Error {
  override readonly name = 'LanesClosed';
}

type Lane = ReturnType<typeof openLane>;

interface Waiter {
  enter(): void;
  refuse(error: Error): void;
}

export class Lanes {
  readonly #options: SMTPTransportOptions;
  readonly #idle: Lane[] = [];
  readonly #waiting = new Set<Waiter>();
  readonly #drained = Promise.withResolvers<void>();
  #busy = 0;
  #isClosed = false;

  constructor(options: SMTPTransportOptions) {
    this.#options = options;
  }

  /** Resolves when the server has taken the mail. Rejects with what nodemailer says, GivenUp, or LanesClosed. */
  async send(mail: SendMailOptions, signal: AbortSignal): Promise<void> {
    await this.#enter(signal);
    let lane: Lane | undefined;
    try {
      if (signal.aborted) throw new GivenUp(false);
      // The one used last: in quiet times the others fall idle and close.
      lane = this.#idle.pop() ?? openLane(this.#options);
      await orGiveUp(lane.sendMail(mail), signal);
    } catch (error) {
      if (error instanceof GivenUp && lane !== undefined) {
        lane.close({ force: true });
        lane = undefined;
      }
      throw error;
    } finally {
      this.#leave(lane);
    }
  }

  /** Mail on its way is finished, within its own deadline; mail that waits is refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiter of this.#waiting) waiter.refuse(new LanesClosed());
    for (const lane of this.#idle.splice(0)) lane.close();
    if (this.#busy === 0) this.#drained.resolve();
    await this.#drained.promise;
  }

  #enter(signal: AbortSignal): Promise<void> {
    if (this.#isClosed) return Promise.reject(new LanesClosed());
    if (signal.aborted) return Promise.reject(new GivenUp(false));
    if (this.#busy < laneCount) {
      this.#busy++;
      return Promise.resolve();
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (): void => waiter.refuse(new GivenUp(false));
    const stopWaiting = (): void => {
      this.#waiting.delete(waiter);
      signal.removeEventListener('abort', giveUp);
    };
    const waiter: Waiter = {
      enter() {
        stopWaiting();
        resolve();
      },
      refuse(error) {
        stopWaiting();
        reject(error);
      },
    };
    this.#waiting.add(waiter);
    signal.addEventListener('abort', giveUp);
    return promise;
  }

  #leave(lane: Lane | undefined): void {
    if (this.#isClosed) lane?.close();
    else if (lane !== undefined) this.#idle.push(lane);
    const [next] = this.#waiting;
    if (next !== undefined) {
      next.enter();
      return;
    }
    this.#busy--;
    if (this.#isClosed && this.#busy === 0) this.#drained.resolve();
  }
}

function openLane(options: SMTPTransportOptions) {
  const poolOptions: SMTPPoolOptions & { pool: true } = {
    ...options,
    pool: true,
    maxConnections: 1,
    maxMessages: Number.POSITIVE_INFINITY,
    // Once: the server may have ended a connection that was idle. nodemailer does so only before the first byte of a mail.
    maxRequeues: 1,
    // At once, where nodemailer would leave it for later: closed in between, it would connect all the same, and send.
    getSocket: (_options, callback) => callback(null, undefined),
  };
  return createTransport(poolOptions);
}

async function orGiveUp(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(new GivenUp(true));
  signal.addEventListener('abort', giveUp);
  try {
    await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
