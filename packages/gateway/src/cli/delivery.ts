// What could not be delivered at the first attempt: what waits, what was given up and why.

import { Problem } from '../core/problem.ts';
import type { Delivery, Store } from '../gateway/ports.ts';
import {
  type Arguments,
  type Command,
  type CommandGroup,
  isoTime,
  ownerOption,
  resolveOwner,
  table,
  UsageError,
  withStore,
} from './command.ts';

const states: readonly Delivery['state'][] = ['waiting', 'sent', 'dead'];
const defaultLimit = 100;
const maxLimit = 10_000;

export const deliveryCommands: CommandGroup = {
  summary: 'Deliveries: what waits to be tried again, and what was given up',
  commands: {
    list: {
      summary: 'List what the first attempt did not deliver, newest first',
      options: {
        owner: ownerOption,
        state: { kind: 'string', value: 'STATE', help: `only ${states.join(', ')}` },
        notification: { kind: 'string', value: 'ID', help: 'only of this notification' },
        limit: { kind: 'string', value: 'N', help: `how many, ${defaultLimit} unless given, ${maxLimit} at most` },
      },
      run: async (args, environment) => {
        const filter = { limit: readLimit(args), ...readState(args), ...readNotification(args) };
        const deliveries = await withStore(environment, async (store) => {
          const { id: ownerId } = await resolveOwner(store, args.text('owner'));
          return store.listDeliveries({ ownerId, ...filter });
        });
        return {
          json: deliveries.map(toJson),
          text: table(
            ['ID', 'STATE', 'RETRIES', 'NEXT', 'LAST ERROR'],
            deliveries.map((delivery) => [
              idOf(delivery),
              delivery.state,
              String(delivery.attempts),
              isoTime(delivery.nextAt) ?? '-',
              delivery.error,
            ]),
            'Everything was delivered at the first attempt.',
          ),
        };
      },
    },
    retry: change({
      summary: 'Try a delivery again now, and for another day; or all that were given up',
      done: (count) => `${count} will be tried within a second or two, if a server runs.`,
      apply: (store, deliveries) => store.retryDeliveries(deliveries, Date.now()),
    }),
    drop: change({
      summary: 'Forget a delivery; or all that were given up',
      done: (count) => `${count} dropped. The notifications themselves stay in the inbox.`,
      apply: (store, deliveries) => store.dropDeliveries(deliveries),
    }),
  },
};

/** `retry` and `drop` take one id, or --all. */
function change(what: {
  summary: string;
  done: (count: number) => string;
  apply: (store: Store, deliveries: Delivery[]) => Promise<number>;
}): Command {
  return {
    summary: what.summary,
    positional: 'ID',
    isPositionalOptional: true,
    options: { owner: ownerOption, all: { kind: 'flag', help: 'everything that was given up' } },
    run: async (args, environment) => {
      const { positional: id } = args;
      if ((id === '') !== args.flag('all'))
        throw new UsageError("Give the ID that 'tocsin delivery list' shows, or --all.");
      const count = await withStore(environment, async (store) => {
        const { id: ownerId } = await resolveOwner(store, args.text('owner'));
        const found = id === '' ? await findDead(store, ownerId) : [await find(store, ownerId, id)];
        return found.length === 0 ? 0 : what.apply(store, found);
      });
      return { json: { count }, text: what.done(count) };
    },
  };
}

function findDead(store: Store, ownerId: string): Promise<Delivery[]> {
  return store.listDeliveries({ ownerId, state: 'dead', limit: maxLimit });
}

async function find(store: Store, ownerId: string, id: string): Promise<Delivery> {
  const [notificationId = ''] = id.split('.');
  const ofNotification = await store.listDeliveries({ ownerId, notificationId, limit: maxLimit });
  const found = ofNotification.find((delivery) => idOf(delivery) === id);
  if (found === undefined) throw new Problem(`There is no delivery ${id}. See 'tocsin delivery list'.`);
  return found;
}

/** Names notification, channel and target; none of them holds a dot. */
function idOf({ notificationId, channel, target }: Delivery): string {
  return [notificationId, channel, target].filter((part) => part !== '').join('.');
}

function toJson(delivery: Delivery) {
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

function readState(args: Arguments): { state?: Delivery['state'] } {
  const text = args.text('state');
  if (text === undefined) return {};
  const state = states.find((each) => each === text);
  if (state === undefined) throw new UsageError(`--state must be one of ${states.join(', ')}.`);
  return { state };
}

function readNotification(args: Arguments): { notificationId?: string } {
  const notificationId = args.text('notification');
  return notificationId === undefined ? {} : { notificationId };
}
