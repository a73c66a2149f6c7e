// Notices when a channel that was away works again, so that what waits for it does not wait for its next turn: by what
// is sent, and where nothing is, by asking the provider now and then.
import { isAccepted, isUnreachable } from '../core/outcome.ts';
import type { DeliveryResult } from '../core/response.ts';
import type { ChannelName } from '../usecases/ports/index.ts';

const channelNames = ['push', 'email', 'mqtt'] as const satisfies ChannelName[];
const probeMs = 5000;
/** A channel that keeps going away, or of which a part is away, is greeted less and less often: each time all that waits for it is tried. */
const firstPauseMs = 5000;
const longestPauseMs = 10 * 60_000;

/** A channel that is down for this long is reported; while it is, only one message of each target is tried. */
const reportAfterMs = 2000;

/** Called when a channel has been down for a moment, with the last error, and when it works again. */
export type OnChannelState = (channel: ChannelName, state: 'down' | 'up', cause: string) => void;

export class Recovery {
  readonly #onRecovered: (channel: ChannelName) => void;
  readonly #monotonicNow: () => number;
  readonly #probeMs: number;
  readonly #away = new Set<ChannelName>();
  readonly #greeted = new Map<ChannelName, { at: number; pauseMs: number }>();
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

  /** Asked while the channel is away; says whether its provider is there. */
  probeWith(channel: ChannelName, probe: () => Promise<boolean>): void {
    this.#probes.set(channel, probe);
  }

  note(result: DeliveryResult): void {
    for (const channel of channelNames) {
      const outcomes = result[channel];
      const unreached = outcomes.find(isUnreachable);
      if (unreached !== undefined) this.#miss(channel, unreached.error);
      else if (this.#away.size > 0 && outcomes.some(isAccepted)) this.#greet(channel);
    }
  }

  close(): void {
    this.#probes.clear();
    clearTimeout(this.#timer);
    for (const report of this.#reports.values()) clearTimeout(report);
  }

  #miss(channel: ChannelName, cause: string): void {
    this.#away.add(channel);
    if (!this.#reports.has(channel)) {
      const report = setTimeout(() => this.#onState(channel, 'down', cause), reportAfterMs).unref();
      this.#reports.set(channel, report);
    }
    if (this.#probes.has(channel)) this.#probeSoon();
  }

  #greet(channel: ChannelName): void {
    if (!this.#away.has(channel)) return;
    const now = this.#monotonicNow();
    const { at, pauseMs } = this.#greeted.get(channel) ?? { at: Number.NEGATIVE_INFINITY, pauseMs: 0 };
    if (now - at < pauseMs) return;
    this.#away.delete(channel);
    clearTimeout(this.#reports.get(channel));
    this.#reports.delete(channel);
    this.#onState(channel, 'up', '');
    const isCalm = now - at > longestPauseMs;
    this.#greeted.set(channel, {
      at: now,
      pauseMs: isCalm ? firstPauseMs : Math.min(pauseMs * 2, longestPauseMs),
    });
    this.#onRecovered(channel);
  }

  #probeSoon(): void {
    this.#timer ??= setTimeout(async () => {
      const asked = [...this.#probes].filter(([channel]) => this.#away.has(channel));
      const answers = await Promise.all(asked.map(async ([channel, probe]) => ({ channel, isBack: await probe() })));
      this.#timer = undefined;
      for (const { channel, isBack } of answers) if (isBack) this.#greet(channel);
      if ([...this.#probes.keys()].some((channel) => this.#away.has(channel))) this.#probeSoon();
    }, this.#probeMs);
  }
}
