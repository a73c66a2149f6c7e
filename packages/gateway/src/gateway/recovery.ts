// Notices when a channel that was away works again, so that what waits for it does not wait for its next turn: by what
// is sent, and where nothing is, by asking the provider now and then.
import type { DeliveryResult } from '../core/answer.ts';
import type { ChannelName } from './ports.ts';

const channelNames = ['push', 'email', 'mqtt'] as const satisfies ChannelName[];
const probeMs = 5000;

export class Recovery {
  readonly #onRecovered: (channel: ChannelName) => void;
  readonly #probeMs: number;
  readonly #away = new Set<ChannelName>();
  readonly #probes = new Map<ChannelName, () => Promise<boolean>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(onRecovered: (channel: ChannelName) => void, everyMs = probeMs) {
    this.#onRecovered = onRecovered;
    this.#probeMs = everyMs;
  }

  /** Asked while the channel is away; says whether its provider is there. */
  probeWith(channel: ChannelName, probe: () => Promise<boolean>): void {
    this.#probes.set(channel, probe);
  }

  note(result: DeliveryResult): void {
    for (const channel of channelNames) {
      const outcomes = result[channel];
      if (outcomes.some((outcome) => outcome.kind === 'retry' && outcome.isUnreachable)) this.#miss(channel);
      else if (this.#away.size > 0 && outcomes.some(({ kind }) => kind === 'sent')) this.#greet(channel);
    }
  }

  close(): void {
    this.#probes.clear();
    clearTimeout(this.#timer);
  }

  #miss(channel: ChannelName): void {
    this.#away.add(channel);
    if (this.#probes.has(channel)) this.#probeSoon();
  }

  #greet(channel: ChannelName): void {
    if (this.#away.delete(channel)) this.#onRecovered(channel);
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
