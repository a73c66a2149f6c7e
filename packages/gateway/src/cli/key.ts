import { type KeyType, keyTypes, notifyKeyTypes, parseAllowedDomain } from '@tocsin/contract';
import { isImportable } from '../core/key-format.ts';
import { Problem } from '../core/problem.ts';
import { formatRate, parseRate, type Rate } from '../core/rate.ts';
import { type ApiKey, KeyExists } from '../usecases/ports/index.ts';
import { createKey, systemMakers as makers } from '../usecases/registration.ts';
import {
  type Arguments,
  type CommandGroup,
  isoTime,
  listReadableOwners,
  notFound,
  ownerOption,
  readName,
  refusedOwners,
  resolveOwner,
  table,
  UsageError,
  withStore,
} from './command.ts';
import { readSecret } from './secret-input.ts';

export const keyCommands: CommandGroup = {
  summary: 'API keys: what callers authenticate with',
  commands: {
    create: {
      summary: 'Create a key; its value is shown once',
      options: {
        owner: ownerOption,
        type: { kind: 'string', value: 'TYPE', help: `${keyTypes.join(', ')} (public_client unless given)` },
        domain: { kind: 'strings', value: 'DOMAIN', help: 'origin that may use the key: example.com, *.example.com' },
        label: { kind: 'string', value: 'TEXT', help: 'what the key is for' },
        expires: { kind: 'string', value: 'TIME', help: 'ISO 8601 time, or how long from now: 12h, 30d' },
        'require-signature': { kind: 'flag', help: 'refuse requests that are not signed' },
        'rate-limit': { kind: 'string', value: 'RATE', help: 'such as 100/m (s, m, h, d)' },
        value: {
          kind: 'string',
          value: 'svc_…',
          help: 'import this value; other users of this machine can see it while the command runs',
        },
        'value-file': {
          kind: 'string',
          value: 'FILE',
          help: 'import the value in this file, or from standard input with -; other users cannot see it',
        },
      },
      run: async (args, environment) => {
        const wanted = {
          type: readType(args),
          label: readName(args, 'label') ?? null,
          allowedDomains: readDomains(args),
          requireSignature: args.flag('require-signature'),
          rateLimit: readRate(args),
          expiresAt: readExpiry(args, makers.now()),
          value: await readValue(args),
        };
        const { key, value } = await withStore(environment, async (store) => {
          const { id: ownerId } = await resolveOwner(store, args.text('owner'));
          return createKey(store, makers, { ownerId, ...wanted }).catch((error) => {
            throw error instanceof KeyExists ? new Problem('A key with this value exists already.') : error;
          });
        });
        return {
          json: { ...toJson(key), key: value },
          text:
            wanted.value === null
              ? `Created key ${key.id} (${key.type}). It is shown only now:\n\n  ${value}`
              : `Imported key ${key.id} (${key.type}).`,
          warnings: notifyKeyTypes.includes(key.type) ? [] : [`Note: POST / refuses keys of the type ${key.type}.`],
        };
      },
    },
    list: {
      summary: 'List the keys of an owner',
      options: { owner: ownerOption },
      run: (args, environment) =>
        withStore(environment, async (store) => {
          const damaged: string[] = [];
          // Also where the row of the owner is refused: the operator has to see which keys there are.
          const given = args.text('owner');
          const { refused } = await listReadableOwners(store);
          const isRefused = given !== undefined && refused.includes(given);
          const id = isRefused ? given : (await resolveOwner(store, given)).id;
          const keys = await store.keys.list(id, (keyId) => damaged.push(keyId));
          const warnings = damaged.map(
            (keyId) => `Key ${keyId} is damaged and not accepted: see 'tocsin doctor --deep'.`,
          );
          if (isRefused) warnings.push(refusedOwners([id]));
          return { json: keys.map(toJson), text: describe(keys), warnings, exitCode: isRefused ? 1 : 0 };
        }),
    },
    revoke: {
      summary: 'Revoke a key; every running server refuses it within a second',
      positional: 'KEYID',
      run: ({ positional }, environment) =>
        withStore(environment, async (store) => {
          const key = (await store.keys.revoke(positional, makers.now())) ?? notFound('key', positional);
          return { json: toJson(key), text: `Revoked key ${key.id}.` };
        }),
    },
  },
};

function readType(args: Arguments): KeyType {
  const type = args.text('type') ?? 'public_client';
  const known = keyTypes.find((name) => name === type);
  if (known === undefined) throw new UsageError(`--type must be one of ${keyTypes.join(', ')}.`);
  return known;
}

function readDomains(args: Arguments): string[] {
  return args.texts('domain').map((text) => {
    const domain = parseAllowedDomain(text);
    if (domain === undefined)
      throw new UsageError(`--domain ${text} is not a domain such as example.com, *.example.com or http://nas.`);
    return domain;
  });
}

function readRate(args: Arguments): Rate | null {
  const text = args.text('rate-limit');
  if (text === undefined) return null;
  const rate = parseRate(text);
  if (rate === undefined) throw new UsageError('--rate-limit must look like 100/m (s, m, h or d).');
  return rate;
}

function readExpiry(args: Arguments, now: number): number | null {
  const text = args.text('expires');
  if (text === undefined) return null;
  const [, amount, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 }[unit] ?? 0;
  const expiresAt = amount === undefined ? Date.parse(text) : now + Number(amount) * unitMs;
  if (!(expiresAt > now))
    throw new UsageError('--expires must be a time to come: 2027-01-31T12:00:00Z, or 12h, or 30d.');
  return expiresAt;
}

async function readValue(args: Arguments): Promise<string | null> {
  const value = await readSecret(args, 'value');
  if (value !== undefined && !isImportable(value)) {
    throw new UsageError('A key to import must be svc_ and 16 to 200 visible ASCII characters without a comma.');
  }
  return value ?? null;
}

function toJson(key: ApiKey) {
  return {
    id: key.id,
    owner: key.ownerId,
    type: key.type,
    state: stateOf(key),
    label: key.label,
    domains: key.allowedDomains,
    requireSignature: key.requireSignature,
    rateLimit: key.rateLimit === null ? null : formatRate(key.rateLimit),
    createdAt: isoTime(key.createdAt),
    expiresAt: isoTime(key.expiresAt),
    revokedAt: isoTime(key.revokedAt),
  };
}

function stateOf({ revokedAt, expiresAt }: ApiKey): 'valid' | 'revoked' | 'expired' {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= makers.now() ? 'expired' : 'valid';
}

function describe(keys: ApiKey[]): string {
  return table(
    ['ID', 'TYPE', 'STATE', 'LABEL', 'DOMAINS', 'SIGNED', 'LIMIT', 'EXPIRES', 'CREATED'],
    keys.map((key) => [
      key.id,
      key.type,
      stateOf(key),
      key.label ?? '-',
      key.allowedDomains.join(' ') || '-',
      key.requireSignature ? 'yes' : '-',
      key.rateLimit === null ? '-' : formatRate(key.rateLimit),
      isoTime(key.expiresAt) ?? '-',
      isoTime(key.createdAt),
    ]),
    "No keys yet. Create one: 'tocsin key create'.",
  );
}
