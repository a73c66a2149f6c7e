// A pool of open connections to the SMTP server, with one email at a time on each. Each is a nodemailer pool of one: a
// pool of several cannot abort a single email, and would send it after its caller has stopped waiting.
import { createTransport, type SendMailOptions, type SMTPPoolOptions, type SMTPTransportOptions } from 'nodemailer';

const maxConnections = 5;

/** The signal aborted first. An email that was started may or may not have reached the server. */
export class SendAborted extends Error {
  override readonly name = 'SendAborted';
  readonly wasStarted: boolean;

  constructor(wasStarted: boolean) {
    super('aborted');
    this.wasStarted = wasStarted;
  }
}

export class SmtpPoolClosed extends Error {
  override readonly name = 'SmtpPoolClosed';
}

type Connection = ReturnType<typeof openConnection>;

interface Waiter {
  enter(): void;
  refuse(error: Error): void;
}

export class SmtpPool {
  readonly #options: SMTPTransportOptions;
  readonly #idle: Connection[] = [];
  readonly #waiting = new Set<Waiter>();
  readonly #drained = Promise.withResolvers<void>();
  #busy = 0;
  #isClosed = false;

  constructor(options: SMTPTransportOptions) {
    this.#options = options;
  }

  /** Resolves when the server has accepted the email. Rejects with an error of nodemailer, SendAborted or SmtpPoolClosed. */
  async send(email: SendMailOptions, signal: AbortSignal): Promise<void> {
    await this.#enter(signal);
    let connection: Connection | undefined;
    try {
      if (signal.aborted) throw new SendAborted(false);
      // The most recently used one: without load the others become idle and close.
      connection = this.#idle.pop() ?? openConnection(this.#options);
      await orAbort(connection.sendMail(email), signal);
    } catch (error) {
      if (error instanceof SendAborted && connection !== undefined) {
        connection.close({ force: true });
        connection = undefined;
      }
      throw error;
    } finally {
      this.#leave(connection);
    }
  }

  /** Emails in flight are finished, within their deadlines; emails that wait are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiter of this.#waiting) waiter.refuse(new SmtpPoolClosed());
    for (const connection of this.#idle.splice(0)) connection.close();
    if (this.#busy === 0) this.#drained.resolve();
    await this.#drained.promise;
  }

  #enter(signal: AbortSignal): Promise<void> {
    if (this.#isClosed) return Promise.reject(new SmtpPoolClosed());
    if (signal.aborted) return Promise.reject(new SendAborted(false));
    if (this.#busy < maxConnections) {
      this.#busy++;
      return Promise.resolve();
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = (): void => waiter.refuse(new SendAborted(false));
    const stopWaiting = (): void => {
      this.#waiting.delete(waiter);
      signal.removeEventListener('abort', abort);
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
    signal.addEventListener('abort', abort);
    return promise;
  }

  #leave(connection: Connection | undefined): void {
    if (this.#isClosed) connection?.close();
    else if (connection !== undefined) this.#idle.push(connection);
    const [next] = this.#waiting;
    if (next !== undefined) {
      next.enter();
      return;
    }
    this.#busy--;
    if (this.#isClosed && this.#busy === 0) this.#drained.resolve();
  }
}

function openConnection(options: SMTPTransportOptions) {
  const poolOptions: SMTPPoolOptions & { pool: true } = {
    ...options,
    pool: true,
    maxConnections: 1,
    maxMessages: Number.POSITIVE_INFINITY,
    // Once: the server may have closed an idle connection. nodemailer requeues only before the first byte of an email.
    maxRequeues: 1,
    // Without this, nodemailer connects later, and then sends even if the pool was closed in between.
    getSocket: (_options, callback) => callback(null, undefined),
  };
  return createTransport(poolOptions);
}

async function orAbort(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(new SendAborted(true));
  signal.addEventListener('abort', abort);
  try {
    await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
