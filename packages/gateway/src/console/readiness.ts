// Whether this process can do its work, dependency by dependency. Only the store decides: a provider that is down must
// not take a node out of its balancer, since notifications are stored and sent later.
import type { OpenChannel } from '../core/channel.ts';
import type { Store } from '../usecases/ports/index.ts';

/** Never more than these words: what a check says may name hosts. */
export type DependencyState = 'ok' | 'unavailable' | 'not configured';

/** With a state for each channel, by name. */
export type ReadinessReport =
  | { ok: boolean; store: DependencyState; [channel: string]: DependencyState | boolean }
  | { ok: false; stopping: true };

export type ChannelChecks = ReadonlyMap<string, Pick<OpenChannel, 'check'>>;

export interface Readiness {
  report(): Promise<ReadinessReport>;
  /** The channels, once they are open. */
  watch(channels: ChannelChecks): void;
  /** From now on no traffic is wanted. */
  setStopping(): void;
}

const deadlineMs = 2000;
/** Results are cached for this time, so that frequent probes do not load the store or the providers. */
const storeFreshMs = 1000;
const channelFreshMs = 5000;
/** If a provider check takes longer, its last known state is reported. */
const channelPatienceMs = 500;

/** `names`: of all channels, in the order of the report. */
export function createReadiness(store: Pick<Store, 'check'>, names: readonly string[]): Readiness {
  const askStore = remembered(() => store.check(), storeFreshMs);
  let askChannels = names.map((name) => ({ name, ask: notConfigured }));
  let isStopping = false;
  return {
    async report() {
      if (isStopping) return { ok: false, stopping: true };
      const [storeState, ...states] = await Promise.all([askStore(), ...askChannels.map(({ ask }) => ask())]);
      const byChannel = askChannels.map(({ name }, index) => [name, states[index] as DependencyState]);
      return { ok: storeState === 'ok', store: storeState, ...Object.fromEntries(byChannel) };
    },
    watch(channels) {
      askChannels = names.map((name) => ({ name, ask: channelCheck(channels.get(name)) }));
    },
    setStopping() {
      isStopping = true;
    },
  };
}

async function notConfigured(): Promise<DependencyState> {
  return 'not configured';
}

function channelCheck(channel: Pick<OpenChannel, 'check'> | undefined): () => Promise<DependencyState> {
  if (channel === undefined) return notConfigured;
  return remembered(
    async () => {
      if ((await channel.check()) !== null) throw new Error('unavailable');
    },
    channelFreshMs,
    channelPatienceMs,
  );
}

/** Caches the result for `freshMs`. A check that takes longer than `patienceMs` reports the previous result, if there is one. */
function remembered(check: () => Promise<void>, freshMs: number, patienceMs?: number): () => Promise<DependencyState> {
  let last: DependencyState | undefined;
  let asking: Promise<DependencyState> | null = null;
  let askedAt = 0;
  const ask = async (): Promise<DependencyState> => {
    const settled = Promise.try(check).then(
      (): DependencyState => 'ok',
      (): DependencyState => 'unavailable',
    );
    last = await within(settled, deadlineMs, 'unavailable');
    return last;
  };
  return () => {
    if (asking === null || performance.now() - askedAt >= freshMs) {
      askedAt = performance.now();
      asking = ask();
    }
    return last === undefined || patienceMs === undefined ? asking : within(asking, patienceMs, last);
  };
}

async function within<T>(work: Promise<T>, ms: number, otherwise: T): Promise<T> {
  const late = Promise.withResolvers<T>();
  const timer = setTimeout(late.resolve, ms, otherwise);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
