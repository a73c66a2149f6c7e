// The targets with a retry queue that this process knows of: a notification to one of them joins the queue instead of
// overtaking it. The store decides; this cache saves a query for all other targets.
import { setTimeout as delay } from 'node:timers/promises';
import type { TargetQueueName, TargetQueueRepository } from '../usecases/ports/index.ts';

const pollMs = 1000;
/** Polls take at most this share of the time, so that slow ones, with many queues, are less frequent. */
const pollShare = 1 / 20;

/** How long a request waits for a closing queue to end before it insists on joining. */
const maxWaitMs = 1000;
const recheckMs = 10;

interface Entry {
  /** Settles when the store has written the first delivery of the queue, or the last one is sent; no request joins before. */
  opening: Promise<void> | null;
  /** The queue no longer exists in the store. */
  isEnded: boolean;
  /** Requests that have neither joined nor begun to send. */
  undecided: number;
  /** Settles when all of them have. A request that finds the queue ended waits for the earlier ones, to keep the order. */
  tail: Promise<void>;
  /** Increases with each update of this entry. */
  version: number;
}

export type QueueList = Pick<TargetQueueRepository, 'list'>;
export type QueueState = 'queued' | 'none' | 'closing';

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

  /** A delivery is about to wait for the target; `opening` settles when the store has written it, or failed to. */
  open(name: TargetQueueName, opening: Promise<unknown>): void {
    const entry = this.#add(keyOf(name));
    this.#waitFor(entry, opening);
  }

  /**
   * Joins the queue in the store through `ask`, if it still exists. If it does not, call `leave` once the send has begun:
   * later requests wait for that.
   */
  async ask(
    name: TargetQueueName,
    ask: (insist: boolean) => Promise<QueueState>,
    isClosing: () => Promise<boolean>,
  ): Promise<{ isQueued: boolean; leave: () => void }> {
    const key = keyOf(name);
    const entry = this.#entries.get(key);
    if (entry === undefined) return { isQueued: false, leave: () => undefined };
    const waitUntil = performance.now() + maxWaitMs;
    const before = entry.tail;
    const leave = this.#enter(key, entry);
    try {
      for (;;) {
        if (entry.opening !== null) await entry.opening;
        const { version } = entry;
        const state = entry.isEnded ? 'none' : await ask(performance.now() > waitUntil);
        if (state === 'queued') {
          leave();
          return { isQueued: true, leave: () => undefined };
        }
        if (state === 'closing') {
          // One poll serves all requests that wait.
          if (entry.opening === null) this.#waitFor(entry, pollUntilOpen(isClosing, waitUntil));
          continue;
        }
        if (entry.version === version) entry.isEnded = true;
        await before;
        // If an earlier send has failed meanwhile, there is a queue again.
        if (entry.isEnded) return { isQueued: false, leave };
      }
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Adds the queues of other processes and removes those that have ended. */
  async refresh(): Promise<void> {
    const since = this.#version;
    const names = await this.#stored.list(this.#now());
    const found = new Set(names.map(keyOf));
    for (const key of found) if (this.#entries.get(key)?.isEnded !== false) this.#add(key);
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

  #add(key: string): Entry {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = { opening: null, isEnded: false, undecided: 0, tail: Promise.resolve(), version: 0 };
      this.#entries.set(key, entry);
    }
    entry.isEnded = false;
    this.#bump(entry);
    return entry;
  }

  #waitFor(entry: Entry, opening: Promise<unknown>): void {
    const done = opening
      .catch(() => undefined)
      .then(() => {
        this.#bump(entry);
        if (entry.opening === done) entry.opening = null;
      });
    entry.opening = done;
  }

  #bump(entry: Entry): void {
    this.#version += 1;
    entry.version = this.#version;
  }
}

async function pollUntilOpen(isClosing: () => Promise<boolean>, until: number): Promise<void> {
  do await delay(recheckMs);
  while (performance.now() < until && (await isClosing().catch(() => false)));
}

function keyOf({ ownerId, channel, target }: TargetQueueName): string {
  return `${ownerId}/${channel}/${target}`;
}
