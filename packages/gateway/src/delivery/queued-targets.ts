// Which targets have a queue, as far as this process knows: a notification to one of them joins the queue instead of
// overtaking it. The store decides; what is remembered here only spares the others the question.
import { setTimeout as delay } from 'node:timers/promises';
import type { TargetQueueName, TargetQueueRepository } from '../usecases/ports/index.ts';

const pollMs = 1000;
/** A poll that takes long, because many targets wait, is made less often: at most this share of the time. */
const pollShare = 1 / 20;

/** So long a request waits for the last of a queue to be sent, before it insists on joining. */
const patienceMs = 1000;
const askAgainMs = 10;

interface Entry {
  /** The store writes something that makes the queue, or its last is being sent; nobody joins before that is done. */
  opening: Promise<void> | null;
  /** The store said that there is no queue any more. */
  isEnded: boolean;
  /** Requests that have not joined or begun to send yet. */
  undecided: number;
  /** Settles when all of them have. Who finds the queue ended waits for those before, so that none overtakes another. */
  tail: Promise<void>;
  /** Counts what was learned about it. */
  version: number;
}

export type QueueList = Pick<TargetQueueRepository, 'list'>;
export type QueueAnswer = 'queued' | 'none' | 'closing';

export class TargetQueues {
  readonly #stored: QueueList;
  readonly #now: () => number;
  readonly #onFailed: (error: unknown) => void;
  readonly #entries = new Map<string, Entry>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #version = 0;

  constructor(stored: QueueList, now: () => number, onFailed: (error: unknown) => void) {
    this.#stored = stored;
    this.#now = now;
    this.#onFailed = onFailed;
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  has(name: TargetQueueName): boolean {
    return this.#entries.has(keyOf(name));
  }

  /** Something is about to wait for the target; `opening` settles when the store has it, or could not take it. */
  open(name: TargetQueueName, opening: Promise<unknown>): void {
    const entry = this.#learn(keyOf(name));
    this.#waitFor(entry, opening);
  }

  /**
   * Asks the store by `ask` whether there is a queue, and joins it there. Where there is none any more, `leave` is to be
   * called once the send has begun: requests behind it wait for that.
   */
  async ask(
    name: TargetQueueName,
    ask: (insist: boolean) => Promise<QueueAnswer>,
    isClosing: () => Promise<boolean>,
  ): Promise<{ isQueued: boolean; leave: () => void }> {
    const key = keyOf(name);
    const entry = this.#entries.get(key);
    if (entry === undefined) return { isQueued: false, leave: () => undefined };
    const patienceEnds = performance.now() + patienceMs;
    const before = entry.tail;
    const leave = this.#enter(key, entry);
    try {
      for (;;) {
        if (entry.opening !== null) await entry.opening;
        const { version } = entry;
        const answer = entry.isEnded ? 'none' : await ask(performance.now() > patienceEnds);
        if (answer === 'queued') {
          leave();
          return { isQueued: true, leave: () => undefined };
        }
        if (answer === 'closing') {
          // One asks for all that wait.
          if (entry.opening === null) this.#waitFor(entry, pollUntilOpen(isClosing, patienceEnds));
          continue;
        }
        if (entry.version === version) entry.isEnded = true;
        await before;
        // Where one of those before has failed meanwhile, there is a queue again.
        if (entry.isEnded) return { isQueued: false, leave };
      }
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Learns of queues that other processes have, and forgets those that have ended. */
  async refresh(): Promise<void> {
    const since = this.#version;
    const names = await this.#stored.list(this.#now());
    const found = new Set(names.map(keyOf));
    for (const key of found) if (this.#entries.get(key)?.isEnded !== false) this.#learn(key);
    for (const [key, entry] of this.#entries) {
      const isIdle = entry.undecided === 0 && entry.opening === null;
      if (isIdle && entry.version <= since && !found.has(key)) this.#entries.delete(key);
    }
  }

  /** Refreshes now, and once a second from then on. */
  async watch(): Promise<void> {
    if (this.#isClosed) return;
    const startedAt = performance.now();
    await this.refresh().catch(this.#onFailed);
    const afterMs = Math.max(pollMs, (performance.now() - startedAt) / pollShare);
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.watch(), afterMs);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #enter(key: string, entry: Entry): () => void {
    const turn = Promise.withResolvers<void>();
    entry.undecided += 1;
    entry.tail = entry.tail.then(() => turn.promise);
    return () => {
      entry.undecided -= 1;
      turn.resolve();
      if (entry.undecided === 0 && entry.isEnded) this.#entries.delete(key);
    };
  }

  #learn(key: string): Entry {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = { opening: null, isEnded: false, undecided: 0, tail: Promise.resolve(), version: 0 };
      this.#entries.set(key, entry);
    }
    entry.isEnded = false;
    this.#touch(entry);
    return entry;
  }

  #waitFor(entry: Entry, opening: Promise<unknown>): void {
    const done = opening
      .catch(() => undefined)
      .then(() => {
        this.#touch(entry);
        if (entry.opening === done) entry.opening = null;
      });
    entry.opening = done;
  }

  #touch(entry: Entry): void {
    this.#version += 1;
    entry.version = this.#version;
  }
}

async function pollUntilOpen(isClosing: () => Promise<boolean>, until: number): Promise<void> {
  do await delay(askAgainMs);
  while (performance.now() < until && (await isClosing().catch(() => false)));
}

function keyOf({ ownerId, channel, target }: TargetQueueName): string {
  return `${ownerId}/${channel}/${target}`;
}
