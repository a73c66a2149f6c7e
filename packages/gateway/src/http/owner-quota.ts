// Daily storage quota of an owner. It is counted in memory and added to the store once a second, so that only the first
// request of an owner waits for the store. Processes on the same store can together exceed a quota by what they accept in
// about a second.
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

export interface OwnerQuotaDeps {
  limits: QuotaLimits;
  counts: Pick<LimitRepository, 'count'>;
  onFailed(error: unknown): void;
}

const windowMs = dayMs;
const syncIntervalMs = 1000;
/** Time that a request waits for the previous count. */
const openTimeoutMs = 1000;
/** Owners per transaction. */
const batchSize = 200;

interface Use {
  rows: number;
  bytes: number;
}

interface Account {
  /** Use by all processes at the last synchronization. */
  known: Use;
  /** End of the day of `known`, by the monotonic clock; null before the first synchronization. */
  resetsAt: number | null;
  /** Use by this process since then. */
  pending: Use;
  /** Pending first synchronization. */
  opening: Promise<void> | null;
}

export class OwnerQuota {
  readonly #deps: OwnerQuotaDeps;
  readonly #accounts = new Map<string, Account>();
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #syncing: Promise<void> = Promise.resolve();

  constructor(deps: OwnerQuotaDeps) {
    this.#deps = deps;
  }

  /** Counts notifications that are stored; refuses requests over the quota. */
  around(accept: Accept, bytes: number): Accept {
    return async (accepting) => {
      const release = await this.reserve(accepting.ownerId, bytes);
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

  /** Refuses if the quota is exceeded. The returned function takes the count back, if nothing was stored. */
  async reserve(ownerId: string, bytes: number): Promise<() => void> {
    await this.#open(ownerId);
    return this.#reserve(ownerId, bytes);
  }

  /** Writes pending counts to the store. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#syncing;
    await this.#sync();
  }

  /** Reads the count from before a restart and of other processes. If the store does not respond, requests proceed without. */
  async #open(ownerId: string): Promise<void> {
    const { limits } = this.#deps;
    const account = this.#accountOf(ownerId);
    if (account.resetsAt !== null || (limits.rows === 0 && limits.bytes === 0)) return;
    this.#changed.add(ownerId);
    if (account.opening === null) {
      this.#syncing = this.#syncing.then(() => this.#sync());
      const late = delay(openTimeoutMs, undefined, { ref: false });
      account.opening = Promise.race([this.#syncing, late]).finally(() => {
        account.opening = null;
      });
    }
    await account.opening;
  }

  #reserve(ownerId: string, bytes: number): () => void {
    const account = this.#accountOf(ownerId);
    const { limits } = this.#deps;
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
      this.#schedule(syncIntervalMs);
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
      this.#syncing = this.#syncing.then(() => this.#sync());
    }, ms).unref();
  }

  async #sync(): Promise<void> {
    const owners = [...this.#changed];
    this.#changed.clear();
    for (let start = 0; start < owners.length; start += batchSize) {
      const batch = owners.slice(start, start + batchSize);
      try {
        await this.#syncBatch(batch);
      } catch (error) {
        // The counts stay pending, and are written with the next synchronization.
        for (const ownerId of batch) this.#changed.add(ownerId);
        this.#deps.onFailed(error);
        this.#schedule(syncIntervalMs);
      }
    }
  }

  async #syncBatch(owners: string[]): Promise<void> {
    const sent = owners.map((ownerId) => ({ ...this.#accountOf(ownerId).pending }));
    const states = await this.#deps.counts.count(
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
      const [rows, bytes] = states.slice(2 * index, 2 * index + 2) as [RateLimitState, RateLimitState];
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
