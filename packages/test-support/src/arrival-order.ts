// Load around outages, and the order in which its notifications arrive.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from './eventually.ts';
import { pauseMs as usualPauseMs } from './pace.ts';
import { notify } from './requests.ts';

export interface Load {
  /** Ids of the notifications that were accepted and stored so far. */
  readonly accepted: string[];
  /** Number of responses with the warning `redelivery_scheduled`. */
  scheduled: number;
  /** Resolves when this number of further notifications has been accepted. */
  more(count: number): Promise<void>;
  /** Resolves when this number of further notifications has been delivered before their response, under the same load. */
  moreAtOnce(count: number): Promise<void>;
  /** Resolves when all requests in flight have got their responses. */
  stop(): Promise<void>;
}

/** Starts concurrent callers, each with one request in flight, which use the addresses in turn. */
export function startLoad(
  apis: readonly string[],
  key: string,
  callers: number,
  request: object,
  pauseMs = usualPauseMs,
): Load {
  const accepted: string[] = [];
  let isOver = false;
  const until = async (what: string, count: () => number, more: number): Promise<void> => {
    const wanted = count() + more;
    await eventually(what, 180_000, count, (now) => now >= wanted);
  };
  const load: Load = {
    accepted,
    scheduled: 0,
    more: (count) => until('more is accepted', () => accepted.length, count),
    moreAtOnce: (count) => until('more is delivered at once', () => accepted.length - load.scheduled, count),
    stop: async () => {
      isOver = true;
      await Promise.all(running);
    },
  };
  const running = Array.from({ length: callers }, async (_, caller) => {
    for (let count = caller; !isOver; count += 1) {
      const { status, body } = await notify({ api: apis[count % apis.length] as string, key }, request);
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.stored, true);
      accepted.push(body.id);
      if (body.warnings.includes('redelivery_scheduled')) load.scheduled += 1;
      await delay(pauseMs);
    }
  });
  return load;
}

/** Waits until all have arrived, and returns those whose first copy arrived after one that was accepted later. */
export async function overtaken(accepted: readonly string[], seen: () => string[]): Promise<string[]> {
  const wanted = new Set(accepted);
  await eventually(
    'everything arrives',
    180_000,
    () => wanted.difference(new Set(seen())).size,
    (missing) => missing === 0,
  );
  let newest = '';
  const late: string[] = [];
  for (const id of new Set(seen())) {
    if (id < newest) late.push(id);
    else newest = id;
  }
  return late;
}
