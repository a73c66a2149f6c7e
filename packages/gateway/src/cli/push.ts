import type { PushConfig } from '../channels/push/config.ts';
import { pushSettingsOf } from '../channels/push/index.ts';
import { tokenProblem } from '../channels/push/token.ts';
import { createVapidKeys, parseVapidKeys } from '../channels/push/vapid.ts';
import { digestOf, randomBase62 } from '../core/key-format.ts';
import { Problem } from '../core/problem.ts';
import type { PushTarget } from '../core/recipients.ts';
import type { Store, StoredPushTarget } from '../usecases/ports/index.ts';
import { systemEnvironment } from '../usecases/registration.ts';
import {
  type Arguments,
  type CommandGroup,
  isoTime,
  ownerOption,
  readName,
  resolveOwner,
  table,
  UsageError,
  withStore,
} from './command.ts';

import { readSecret } from './secret-input.ts';
import { testPushCommand } from './test-push.ts';

type Provider = PushTarget['provider'];

const providers: readonly Provider[] = ['webpush', 'fcm', 'apns'];

export const pushCommands: CommandGroup = {
  summary: 'Push targets: browsers and apps that receive push notifications of an owner',
  commands: {
    add: {
      summary: 'Add a browser or an app',
      options: {
        owner: ownerOption,
        provider: { kind: 'string', value: 'NAME', help: providers.join(', '), required: true },
        token: {
          kind: 'string',
          value: 'TOKEN',
          help: 'registration token of the app; for webpush the JSON of the PushSubscription',
        },
        'token-file': {
          kind: 'string',
          value: 'FILE',
          help: 'read the token from a file, or from standard input with -; hidden from other users',
        },
        label: { kind: 'string', value: 'TEXT', help: 'name of the target' },
      },
      run: async (args, environment) => {
        const provider = readProvider(args);
        const token = await readToken(args);
        const label = readName(args, 'label') ?? null;
        return withStore(environment, async (store, config) => {
          const problem = tokenProblem(provider, token, pushSettingsOf(config.channels).webPushHosts);
          if (problem !== null) throw new UsageError(`Not a valid ${provider} token: ${problem}`);
          const { id: ownerId } = await resolveOwner(store, args.text('owner'));
          const target = await add(store, { ownerId, provider, token, label });
          return {
            json: targetJson(target),
            text: `Added push target ${target.id} (${provider}).`,
            warnings: warningsFor(provider, pushSettingsOf(config.channels)),
          };
        });
      },
    },
    list: {
      summary: 'List the push targets of an owner',
      options: { owner: ownerOption },
      run: (args, environment) =>
        withStore(environment, async (store) => {
          const targets = await store.pushTargets.list((await resolveOwner(store, args.text('owner'))).id);
          return { json: targets.map(targetJson), text: describe(targets) };
        }),
    },
    test: testPushCommand,
    remove: {
      summary: 'Remove a push target',
      positional: 'ID',
      run: ({ positional }, environment) =>
        withStore(environment, async (store) => {
          if (!(await store.pushTargets.delete(positional))) {
            throw new Problem(`There is no push target ${positional}. See 'tocsin push list'.`);
          }
          return { json: { id: positional, removed: true }, text: `Removed push target ${positional}.` };
        }),
    },
    'public-key': {
      summary: 'Show the VAPID public key for Web Push subscriptions (applicationServerKey)',
      run: (_args, environment) =>
        withStore(environment, async (store) => {
          const { publicKey } = parseVapidKeys(await store.secrets.obtain('webpush_vapid', createVapidKeys));
          return { json: { publicKey }, text: publicKey };
        }),
    },
  },
};

async function add(
  store: Store,
  wanted: Pick<StoredPushTarget, 'ownerId' | 'provider' | 'token' | 'label'>,
): Promise<StoredPushTarget> {
  const known = await store.pushTargets.list(wanted.ownerId);
  const same = known.find(({ provider, token }) => provider === wanted.provider && token === wanted.token);
  if (same !== undefined) {
    throw new Problem(
      `This owner already has the token, as ${same.id}. To add it again, first run 'tocsin push remove ${same.id}'.`,
    );
  }
  const id = `psh_${randomBase62(16, systemEnvironment.randomIndex)}`;
  const target: StoredPushTarget = { ...wanted, id, createdAt: systemEnvironment.now(), disabledAt: null };
  await store.pushTargets.create(target);
  return target;
}

function readProvider(args: Arguments): Provider {
  const provider = providers.find((name) => name === args.text('provider'));
  if (provider === undefined) throw new UsageError(`--provider must be one of ${providers.join(', ')}.`);
  return provider;
}

async function readToken(args: Arguments): Promise<string> {
  const token = await readSecret(args, 'token');
  if (token === undefined) throw new UsageError('Pass the token with --token or --token-file.');
  return token;
}

function warningsFor(provider: Provider, push: PushConfig): string[] {
  if (provider === 'fcm' && push.fcm === null) return ['Note: FCM is not configured; set TOCSIN_FCM_CREDENTIALS.'];
  if (provider === 'apns' && push.apns === null) return ['Note: APNs is not configured; set TOCSIN_APNS_KEY.'];
  return [];
}

/** Distinguishes two targets without revealing the token. */
function fingerprintOf(token: string): string {
  return digestOf(token).slice(0, 10);
}

function targetJson({ id, ownerId, provider, token, label, createdAt, disabledAt }: StoredPushTarget) {
  return {
    id,
    owner: ownerId,
    provider,
    label,
    fingerprint: fingerprintOf(token),
    createdAt: isoTime(createdAt),
    disabledAt: isoTime(disabledAt),
  };
}

function describe(targets: StoredPushTarget[]): string {
  return table(
    ['ID', 'PROVIDER', 'LABEL', 'TOKEN', 'STATE', 'CREATED'],
    targets.map(({ id, provider, label, token, createdAt, disabledAt }) => [
      id,
      provider,
      label ?? '-',
      `#${fingerprintOf(token)}`,
      disabledAt === null ? 'active' : `expired ${isoTime(disabledAt)}`,
      isoTime(createdAt),
    ]),
    "No push targets yet. Add one: 'tocsin push add --provider NAME --token TOKEN'.",
  );
}
