// Detects that a channel which was down has recovered, so that its queues are retried at once: from the outcomes of sends
// and, while nothing is sent, from health checks.
import { isAccepted, isUnreachable } from '../core/outcome.ts';
import { type DeliveryResult, outcomesOf } from '../core/response.ts';
import type { ChannelName } from '../usecases/ports/index.ts';

const probeMs = 5000;
/** Each recovery retries everything queued for the channel, so a flapping channel is declared recovered with increasing pauses. */
const firstPauseMs = 5000;
const longestPauseMs = 10 * 60_000;

/** A channel that is down for this long is reported. While it is down, one message of each target is attempted. */
const reportAfterMs = 2000;

/** Called with the last error when a channel has been down for `reportAfterMs`, and when it has recovered. */
export type OnChannelState = (channel: ChannelName, state: 'down' | 'up', cause: string) => void;

export class Recovery {
  readonly #onRecovered: (channel: ChannelName) => void;
  readonly #monotonicNow: () => number;
  readonly #probeMs: number;
  readonly #down = new Set<ChannelName>();
  readonly #lastRecovery = new Map<ChannelName, { at: number; pauseMs: number }>();
  readonly #probes = new Map<ChannelName, () => Promise<boolean>>();
  readonly #onState: OnChannelState;
  readonly #reports = new Map<ChannelName, NodeJS.Timeout>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    onRecovered: (channel: ChannelName) => void,
    monotonicNow: () => number = () => performance.now(),
    everyMs = probeMs,
    onState: OnChannelState = () => undefined,
  ) {
    this.#onState = onState;
    this.#onRecovered = onRecovered;
    this.#monotonicNow = monotonicNow;
    this.#probeMs = everyMs;
  }

  /** `probe` is called while the channel is down; resolves with whether its provider responds. */
  probeWith(channel: ChannelName, probe: () => Promise<boolean>): void {
    this.#probes.set(channel, probe);
  }

  note(result: DeliveryResult): void {
    for (const channel in result) {
      const outcomes = outcomesOf(result, channel);
      const unreached = outcomes.find(isUnreachable);
      if (unreached !== undefined) this.#markDown(channel, unreached.error);
      else if (this.#down.size > 0 && outcomes.some(isAccepted)) this.#markRecovered(channel);
    }
  }

  close(): void {
    this.#probes.clear();
    clearTimeout(this.#timer);
    for (const report of this.#reports.values()) clearTimeout(report);
  }

  #markDown(channel: ChannelName, cause: string): void {
    this.#down.add(channel);
    if (!this.#reports.has(channel)) {
      const report = setTimeout(() => this.#onState(channel, 'down', cause), reportAfterMs).unref();
      this.#reports.set(channel, report);
    }
    if (this.#probes.has(channel)) this.#probeSoon();
  }

  #markRecovered(channel: ChannelName): void {
    if (!this.#down.has(channel)) return;
    const now = this.#monotonicNow();
    const { at, pauseMs } = this.#lastRecovery.get(channel) ?? { at: Number.NEGATIVE_INFINITY, pauseMs: 0 };
    if (now - at < pauseMs) return;
    this.#down.delete(channel);
    clearTimeout(this.#reports.get(channel));
    this.#reports.delete(channel);
    this.#onState(channel, 'up', '');
    const wasStable = now - at > longestPauseMs;
    this.#lastRecovery.set(channel, {
      at: now,
      pauseMs: wasStable ? firstPauseMs : Math.min(pauseMs * 2, longestPauseMs),
    });
    this.#onRecovered(channel);
  }

  #probeSoon(): void {
    this.#timer ??= setTimeout(async () => {
      const probed = [...this.#probes].filter(([channel]) => this.#down.has(channel));
      const states = await Promise.all(probed.map(async ([channel, probe]) => ({ channel, isUp: await probe() })));
      this.#timer = undefined;
      for (const { channel, isUp } of states) if (isUp) this.#markRecovered(channel);
      if ([...this.#probes.keys()].some((channel) => this.#down.has(channel))) this.#probeSoon();
    }, this.#probeMs);
  }
}
