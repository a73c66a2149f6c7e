// How much one owner may store in a day. It is counted in memory, and added up in the store once a second, so that only the
// first request of an owner waits for it: processes on the same store can together exceed a quota by what they accept in about a second.

import { setTimeout as delay } from 'node:timers/promises';
import { dayMs } from '../core/duration.ts';
import { Refusal } from '../core/refusal.ts';
import type { Accept } from '../usecases/accept.ts';
import { type LimitRepository, quotaIds, type RateLimitState } from '../usecases/ports/limits.ts';

export interface QuotaLimits {
  /** Notifications in a day; 0: no limit. */
  rows: number;
  /** Bytes of their request bodies; 0: no limit. */
  bytes: number;
}

export interface OwnerQuotaParts {
  limits: QuotaLimits;
  counts: Pick<LimitRepository, 'count'>;
  onFailed(error: unknown): void;
}

const windowMs = dayMs;
const addUpEveryMs = 1000;
/** How long a request waits to hear what was counted before. */
const openWithinMs = 1000;
/** Of owners in one transaction. */
const batchSize = 200;

interface Use {
  rows: number;
  bytes: number;
}

interface Account {
  /** By all processes, as of the last time it was added up. */
  known: Use;
  /** When the day of `known` is over, by the monotonic clock; null before the store was asked. */
  resetsAt: number | null;
  /** By this process since then. */
  pending: Use;
  /** While the store is asked for the first time. */
  opening: Promise<void> | null;
}

export class OwnerQuota {
  readonly #parts: OwnerQuotaParts;
  readonly #accounts = new Map<string, Account>();
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #adding: Promise<void> = Promise.resolve();

  constructor(parts: OwnerQuotaParts) {
    this.#parts = parts;
  }

  /** Counts what is stored for the first time; a request that is over the quota is refused. */
  around(accept: Accept, bytes: number): Accept {
    return async (accepting) => {
      await this.#open(accepting.ownerId);
      const release = this.#reserve(accepting.ownerId, bytes);
      try {
        const accepted = await accept(accepting);
        if (accepted === 'duplicate' || !accepted.stored) release();
        return accepted;
      } catch (error) {
        release();
        throw error;
      }
    };
  }

  /** Adds up what is not in the store yet. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#adding;
    await this.#addUp();
  }

  /** What was counted before a restart, or by others. Where the store does not say, the request goes on without. */
  async #open(ownerId: string): Promise<void> {
    const { limits } = this.#parts;
    const account = this.#accountOf(ownerId);
    if (account.resetsAt !== null || (limits.rows === 0 && limits.bytes === 0)) return;
    this.#changed.add(ownerId);
    if (account.opening === null) {
      this.#adding = this.#adding.then(() => this.#addUp());
      const late = delay(openWithinMs, undefined, { ref: false });
      account.opening = Promise.race([this.#adding, late]).finally(() => {
        account.opening = null;
      });
    }
    await account.opening;
  }

  #reserve(ownerId: string, bytes: number): () => void {
    const account = this.#accountOf(ownerId);
    const { limits } = this.#parts;
    const isOver = (used: number, more: number, limit: number): boolean => limit > 0 && used + more > limit;
    if (
      isOver(account.known.rows + account.pending.rows, 1, limits.rows) ||
      isOver(account.known.bytes + account.pending.bytes, bytes, limits.bytes)
    )
      throw quotaExceeded(account);
    const add = (sign: 1 | -1): void => {
      account.pending.rows += sign;
      account.pending.bytes += sign * bytes;
      this.#changed.add(ownerId);
      this.#schedule(addUpEveryMs);
    };
    add(1);
    return () => add(-1);
  }

  #accountOf(ownerId: string): Account {
    let account = this.#accounts.get(ownerId);
    if (account === undefined) {
      account = { known: { rows: 0, bytes: 0 }, resetsAt: null, pending: { rows: 0, bytes: 0 }, opening: null };
      this.#accounts.set(ownerId, account);
    }
    if (account.resetsAt !== null && account.resetsAt <= performance.now()) {
      account.known = { rows: 0, bytes: 0 };
      account.resetsAt = null;
    }
    return account;
  }

  #schedule(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#adding = this.#adding.then(() => this.#addUp());
    }, ms).unref();
  }

  async #addUp(): Promise<void> {
    const owners = [...this.#changed];
    this.#changed.clear();
    for (let start = 0; start < owners.length; start += batchSize) {
      const batch = owners.slice(start, start + batchSize);
      try {
        await this.#addUpBatch(batch);
      } catch (error) {
        // It stays pending, and is added with what comes next.
        for (const ownerId of batch) this.#changed.add(ownerId);
        this.#parts.onFailed(error);
        this.#schedule(addUpEveryMs);
      }
    }
  }

  async #addUpBatch(owners: string[]): Promise<void> {
    const sent = owners.map((ownerId) => ({ ...this.#accountOf(ownerId).pending }));
    const standings = await this.#parts.counts.count(
      owners.flatMap((ownerId, index) => {
        const { rows, bytes } = sent[index] as Use;
        return [
          { ownerId, keyId: quotaIds.rows, windowMs, count: rows },
          { ownerId, keyId: quotaIds.bytes, windowMs, count: bytes },
        ];
      }),
    );
    const now = performance.now();
    for (const [index, ownerId] of owners.entries()) {
      const account = this.#accountOf(ownerId);
      const [rows, bytes] = standings.slice(2 * index, 2 * index + 2) as [RateLimitState, RateLimitState];
      account.known = { rows: rows.used, bytes: bytes.used };
      account.resetsAt = now + Math.max(rows.msLeft, bytes.msLeft);
      account.pending.rows -= (sent[index] as Use).rows;
      account.pending.bytes -= (sent[index] as Use).bytes;
    }
  }
}

function quotaExceeded({ resetsAt }: Account): Refusal {
  const seconds = resetsAt === null ? 60 : Math.max(1, Math.ceil((resetsAt - performance.now()) / 1000));
  return new Refusal('quota_exceeded', { headers: { 'Retry-After': String(seconds) } });
}
