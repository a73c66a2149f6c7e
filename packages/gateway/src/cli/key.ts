import {
  canonicalDomains,
  formatRate,
  type KeyType,
  keyProblems,
  keyTypes,
  maySendNotifications,
  parseRate,
} from '@tocsin/contract';
import { parseDuration } from '../core/duration.ts';
import { isImportable } from '../core/key-format.ts';
import { Problem } from '../core/problem.ts';
import { type ApiKey, KeyExists } from '../usecases/ports/index.ts';
import { createKey, systemEnvironment } from '../usecases/registration.ts';
import {
  type Arguments,
  type CommandGroup,
  isoTime,
  listReadableOwners,
  nameCharacters,
  notFound,
  ownerOption,
  refusedOwners,
  resolveOwner,
  table,
  UsageError,
  withStore,
} from './command.ts';
import { readSecret } from './secret-input.ts';

export const keyCommands: CommandGroup = {
  summary: 'API keys: credentials of callers',
  commands: {
    create: {
      summary: 'Create a key; its value is shown once',
      options: {
        owner: ownerOption,
        type: { kind: 'string', value: 'TYPE', help: `${keyTypes.join(', ')} (default public_client)` },
        domain: { kind: 'strings', value: 'DOMAIN', help: 'origin that may use the key: example.com, *.example.com' },
        label: { kind: 'string', value: 'TEXT', help: 'what the key is for' },
        expires: { kind: 'string', value: 'TIME', help: 'ISO 8601 time, or a duration from now: 12h, 30d' },
        'require-signature': { kind: 'flag', help: 'refuse unsigned requests' },
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
          ...readFields(args, systemEnvironment.now()),
          requireSignature: args.flag('require-signature'),
          value: await readValue(args),
        };
        const { key, value } = await withStore(environment, async (store) => {
          const { id: ownerId } = await resolveOwner(store, args.text('owner'));
          return createKey(store, systemEnvironment, { ownerId, ...wanted }).catch((error) => {
            throw error instanceof KeyExists ? new Problem('A key with this value exists already.') : error;
          });
        });
        return {
          json: { ...toJson(key), key: value },
          text:
            wanted.value === null
              ? `Created key ${key.id} (${key.type}). It is shown only now:\n\n  ${value}`
              : `Imported key ${key.id} (${key.type}).`,
          warnings: maySendNotifications(key.type) ? [] : [`Note: POST / refuses keys of the type ${key.type}.`],
        };
      },
    },
    list: {
      summary: 'List the keys of an owner',
      options: { owner: ownerOption },
      run: (args, environment) =>
        withStore(environment, async (store) => {
          const damaged: string[] = [];
          // Keys are also listed if the owner's row is refused: the operator has to see which keys exist.
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
          const key = (await store.keys.revoke(positional, systemEnvironment.now())) ?? notFound('key', positional);
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

/** The fields that the console and the app check by the same rules. */
function readFields(args: Arguments, now: number) {
  const fields = {
    label: args.text('label')?.trim() ?? null,
    allowedDomains: args.texts('domain'),
    rateLimit: args.text('rate-limit') ?? null,
    expiresAt: readExpiry(args, now),
  };
  const [wrong] = keyProblems(fields, { now, labelCharacters: nameCharacters });
  if (wrong !== undefined)
    throw new UsageError(`${optionOf(wrong.field, fields)} ${wrong.problem}${hints[wrong.field] ?? ''}.`);
  return {
    ...fields,
    allowedDomains: canonicalDomains(fields.allowedDomains),
    rateLimit: fields.rateLimit === null ? null : (parseRate(fields.rateLimit) ?? null),
  };
}

const hints: Readonly<Record<string, string>> = { expiresAt: ': 2027-01-31T12:00:00Z, or 12h, or 30d' };

/** The option that sets a field, for a domain with its value. */
function optionOf(field: string, { allowedDomains }: { allowedDomains: readonly string[] }): string {
  const [, index] = /^allowedDomains\[(\d+)\]$/.exec(field) ?? [];
  if (index !== undefined) return `--domain ${allowedDomains[Number(index)]}`;
  return { label: '--label', rateLimit: '--rate-limit', expiresAt: '--expires' }[field] ?? field;
}

/** NaN for text that is not a time. */
function readExpiry(args: Arguments, now: number): number | null {
  const text = args.text('expires');
  if (text === undefined) return null;
  const duration = parseDuration(text);
  return duration === undefined ? Date.parse(text) : now + duration;
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
  return expiresAt !== null && expiresAt <= systemEnvironment.now() ? 'expired' : 'valid';
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
