// Whether this process can do its work, dependency by dependency. Only the store decides: a provider that is down must
// not take a node out of its balancer, since notifications are stored and sent later.
import type { ManagedChannel, Store } from '../usecases/ports/index.ts';

/** Never more than these words: what a check says may name hosts. */
export type DependencyState = 'ok' | 'unavailable' | 'not configured';

export type ReadinessReport =
  | { ok: boolean; store: DependencyState; mqtt: DependencyState; email: DependencyState; push: DependencyState }
  | { ok: false; stopping: true };

/** null: not configured. */
export type ChannelChecks = Record<'mqtt' | 'email' | 'push', Pick<ManagedChannel<never>, 'check'> | null>;

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

export function createReadiness(store: Pick<Store, 'check'>): Readiness {
  const askStore = remembered(() => store.check(), storeFreshMs);
  let askChannels: Record<keyof ChannelChecks, () => Promise<DependencyState>> = {
    mqtt: notConfigured,
    email: notConfigured,
    push: notConfigured,
  };
  let isStopping = false;
  return {
    async report() {
      if (isStopping) return { ok: false, stopping: true };
      const [storeState, mqtt, email, push] = await Promise.all([
        askStore(),
        askChannels.mqtt(),
        askChannels.email(),
        askChannels.push(),
      ]);
      return { ok: storeState === 'ok', store: storeState, mqtt, email, push };
    },
    watch({ mqtt, email, push }) {
      askChannels = { mqtt: channelCheck(mqtt), email: channelCheck(email), push: channelCheck(push) };
    },
    setStopping() {
      isStopping = true;
    },
  };
}

async function notConfigured(): Promise<DependencyState> {
  return 'not configured';
}

function channelCheck(channel: ChannelChecks[keyof ChannelChecks]): () => Promise<DependencyState> {
  if (channel === null) return notConfigured;
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
