// Deliveries that failed at the first attempt: waiting for a retry, sent by a retry, or dead, with their last error.
import { channels } from '../channels/registry.ts';
import type { TargetReader } from '../core/channel.ts';
import { type Dispatch, targetIdsOf } from '../core/dispatch.ts';
import { Problem } from '../core/problem.ts';
import { targetReader } from '../delivery/target-reader.ts';
import type { Delivery, MqttProgress, Owner, Store } from '../usecases/ports/index.ts';
import {
  type Arguments,
  type Command,
  type CommandGroup,
  isoTime,
  listReadableOwners,
  refusedOwners,
  resolveOwner,
  table,
  UsageError,
  withStore,
} from './command.ts';

type State = Delivery['state'];

/** A delivery, or the progress of an MQTT message that the embedded broker queued without one. */
type Listed = Pick<Delivery, 'ownerId' | 'notificationId' | 'channel' | 'target' | 'attempts' | 'error'> & {
  state: State | MqttProgress['state'];
} & { [Time in 'createdAt' | 'nextAt' | 'expiresAt' | 'endedAt']: number | null };

const states: readonly State[] = ['waiting', 'sent', 'dead'];
const defaultLimit = 100;
const maxLimit = 10_000;

interface Filter {
  states: readonly State[];
  notificationId?: string;
  limit: number;
}

export const deliveryCommands: CommandGroup = {
  summary: 'Deliveries: waiting for a retry, or dead (retries exhausted)',
  commands: {
    list: {
      summary: 'List waiting and dead deliveries, newest first',
      options: {
        owner: { kind: 'string', value: 'ID', help: 'filter by owner id' },
        state: { kind: 'string', value: 'STATE', help: `filter by state: ${states.join(', ')} (sent by a retry)` },
        notification: { kind: 'string', value: 'ID', help: 'filter by notification id, any state' },
        limit: {
          kind: 'string',
          value: 'N',
          help: `maximum number of rows (default ${defaultLimit}, at most ${maxLimit})`,
        },
      },
      run: async (args, environment) => {
        const limit = readLimit(args);
        // One more than is shown, to detect that there are more.
        const filter: Filter = { ...readFilter(args), limit: limit + 1 };
        const { owners, refused, found } = await withStore(environment, async (store) => {
          const { owners, refused } = await selectOwners(store, args.text('owner'));
          const found = await collect(store, owners, filter);
          return {
            owners,
            refused,
            found: filter.notificationId === undefined ? found : await withQueues(store, owners, found, filter),
          };
        });
        const deliveries = found.slice(0, limit);
        return {
          json: deliveries.map(toJson),
          text: [
            describe(deliveries, owners.length > 1, whenEmpty(args)),
            ...(found.length > limit ? ['', `${limit} shown; ${moreThan(limit)}.`] : []),
          ].join('\n'),
          ...(refused.length > 0 && { warnings: [refusedOwners(refused)], exitCode: 1 }),
        };
      },
    },
    retry: change({
      summary: 'Retry a delivery now, with another day of retries; or all dead deliveries with --all',
      done: (count) => `${count} will be retried within two seconds if a server is running.`,
      noneOfAll: 'No dead deliveries. Waiting ones are retried automatically.',
      noneOfId: 'It has been sent in the meantime.',
      apply: (store, deliveries) => store.deliveries.retry(deliveries, Date.now()),
    }),
    drop: change({
      summary: 'Drop a delivery; or all dead deliveries with --all',
      done: (count) => `${count} dropped. The notifications themselves stay in the inbox.`,
      noneOfAll: 'No dead deliveries.',
      noneOfId: 'It is already deleted.',
      apply: (store, deliveries) => store.deliveries.drop(deliveries),
    }),
  },
};

/** `retry` and `drop` take one id, or --all. */
function change(what: {
  summary: string;
  done: (count: number) => string;
  noneOfAll: string;
  noneOfId: string;
  apply: (store: Store, deliveries: Delivery[]) => Promise<number>;
}): Command {
  return {
    summary: what.summary,
    positional: 'ID',
    isPositionalOptional: true,
    options: {
      owner: { kind: 'string', value: 'ID', help: 'owner id (required with --all if there are several owners)' },
      all: { kind: 'flag', help: 'all dead deliveries of the owner' },
    },
    run: async (args, environment) => {
      const { positional: id } = args;
      if ((id === '') !== args.flag('all')) throw new UsageError("Pass an ID from 'tocsin delivery list', or --all.");
      const count = await withStore(environment, async (store) => {
        if (id === '') return applyToDead(store, await resolveOwner(store, args.text('owner')), what.apply);
        return what.apply(store, [await find(store, (await selectOwners(store, args.text('owner'))).owners, id)]);
      });
      return { json: { count }, text: count > 0 ? what.done(count) : id === '' ? what.noneOfAll : what.noneOfId };
    },
  };
}

async function selectOwners(store: Store, id: string | undefined): Promise<{ owners: Owner[]; refused: string[] }> {
  return id === undefined ? listReadableOwners(store) : { owners: [await resolveOwner(store, id)], refused: [] };
}

/** Newest first, over all of the owners. */
async function collect(store: Store, owners: Owner[], { states, limit, ...filter }: Filter): Promise<Delivery[]> {
  let found: Delivery[] = [];
  for (const { id: ownerId } of owners) {
    for (const state of states) found.push(...(await store.deliveries.list({ ownerId, state, limit, ...filter })));
    found = found.sort(byAge).slice(0, limit);
  }
  return found;
}

/** Adds the progress that the embedded broker recorded for a notification to its deliveries. */
async function withQueues(
  store: Store,
  owners: Owner[],
  found: readonly Listed[],
  { notificationId = '', states }: Filter,
): Promise<Listed[]> {
  const entries = new Map(found.map((each) => [idOf(each), each]));
  for (const { id: ownerId } of owners) {
    const dispatch = (await store.dispatches.find(ownerId, notificationId))?.dispatch;
    if (dispatch === undefined || !states.includes('sent')) continue;
    const read = targetReader(store, { id: ownerId, email: null });
    for (const { channel, target, progress } of await progressOf(read, notificationId, dispatch)) {
      const known = entries.get(idOf({ notificationId, channel, target }));
      const endedAt = progress.state === 'delivered' ? progress.deliveredAt : null;
      // An acknowledgement from the device wins over a delivery row that a crashed process did not update.
      if (known !== undefined && known.state !== 'sent' && endedAt === null) continue;
      const entry: Listed = {
        ...{ ownerId, notificationId, channel, target, attempts: 0, error: '' },
        ...{ createdAt: null, nextAt: null, expiresAt: null },
        ...known,
        ...(endedAt !== null && { nextAt: null, error: '' }),
        state: progress.state,
        endedAt,
      };
      entries.set(idOf(entry), entry);
    }
  }
  return [...entries.values()].sort(byAge);
}

/** What channels with receipts know about the targets of a dispatch. */
async function progressOf(read: TargetReader, notificationId: string, dispatch: Dispatch) {
  const found = channels.map(async ({ name: channel, progress: find }) => {
    const known = await find?.(read, notificationId, targetIdsOf(dispatch, channel));
    return [...(known ?? [])].map(([target, progress]) => ({ channel, target, progress }));
  });
  return (await Promise.all(found)).flat();
}

/** Ids of notifications grow with time. */
function byAge(one: Listed, other: Listed): number {
  if (one.notificationId !== other.notificationId) return one.notificationId < other.notificationId ? 1 : -1;
  return idOf(one) < idOf(other) ? -1 : 1;
}

async function applyToDead(
  store: Store,
  { id: ownerId }: Owner,
  apply: (store: Store, deliveries: Delivery[]) => Promise<number>,
): Promise<number> {
  let count = 0;
  for (;;) {
    const dead = await store.deliveries.list({ ownerId, state: 'dead', limit: maxLimit });
    const changed = dead.length === 0 ? 0 : await apply(store, dead);
    count += changed;
    if (changed === 0 || dead.length < maxLimit) return count;
  }
}

async function find(store: Store, owners: Owner[], id: string): Promise<Delivery> {
  const [notificationId = ''] = id.split('.');
  for (const { id: ownerId } of owners) {
    const ofNotification = await store.deliveries.list({ ownerId, notificationId, limit: maxLimit });
    const found = ofNotification.find((delivery) => idOf(delivery) === id);
    if (found !== undefined) return found;
  }
  throw new Problem(`There is no delivery ${id}. See 'tocsin delivery list'.`);
}

function describe(deliveries: readonly Listed[], hasSeveralOwners: boolean, empty: string): string {
  const owner = hasSeveralOwners ? ['OWNER'] : [];
  return table(
    ['ID', ...owner, 'STATE', 'RETRIES', 'NEXT', 'LAST ERROR'],
    deliveries.map((delivery) => [
      idOf(delivery),
      ...(hasSeveralOwners ? [delivery.ownerId] : []),
      delivery.state,
      String(delivery.attempts),
      isoTime(delivery.nextAt) ?? '-',
      delivery.error,
    ]),
    empty,
  );
}

function whenEmpty(args: Arguments): string {
  if (args.text('notification') !== undefined) {
    return 'No deliveries of that notification: every target accepted the first attempt, or it does not exist.';
  }
  const texts: Record<string, string> = {
    waiting: 'No waiting deliveries.',
    dead: 'No dead deliveries.',
    sent: 'No deliveries were sent by a retry.',
  };
  return texts[args.text('state') ?? ''] ?? 'No waiting or dead deliveries.';
}

function moreThan(limit: number): string {
  return limit < maxLimit ? '--limit shows more' : 'there are more';
}

/** Joins notification, channel and target with dots; none of them contains a dot. */
function idOf({ notificationId, channel, target }: Pick<Delivery, 'notificationId' | 'channel' | 'target'>): string {
  return [notificationId, channel, target].filter((part) => part !== '').join('.');
}

function toJson(delivery: Listed) {
  const { ownerId, notificationId, channel, target, state, attempts, createdAt, nextAt, expiresAt, endedAt, error } =
    delivery;
  return {
    id: idOf(delivery),
    ...{ ownerId, notificationId, channel, target, state, attempts, error },
    createdAt: isoTime(createdAt),
    nextAt: isoTime(nextAt),
    expiresAt: isoTime(expiresAt),
    endedAt: isoTime(endedAt),
  };
}

function readLimit(args: Arguments): number {
  const limit = Number(args.text('limit') ?? defaultLimit);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit) {
    throw new UsageError(`--limit must be a number from 1 to ${maxLimit}.`);
  }
  return limit;
}

/** Deliveries that a retry has sent are listed only on request. */
function readFilter(args: Arguments): Omit<Filter, 'limit'> {
  const [text, notificationId] = [args.text('state'), args.text('notification')];
  const state = states.find((each) => each === text);
  if (text !== undefined && state === undefined) {
    throw new UsageError(`--state must be one of ${states.join(', ')}.`);
  }
  if (notificationId === undefined) return { states: state === undefined ? ['waiting', 'dead'] : [state] };
  return { states: state === undefined ? states : [state], notificationId };
}
