import { type Config, parseSwitch } from '../config/server.ts';
import { byName, configuredListeners } from '../core/device-urls.ts';
import { isOneAddress } from '../core/email-address.ts';
import { printable } from '../core/printable.ts';
import { Problem } from '../core/problem.ts';
import { linkLifetimes, makeLink } from '../usecases/one-time-links.ts';
import type { Owner } from '../usecases/ports/index.ts';
import type { QuotaUse } from '../usecases/ports/limits.ts';
import { createOwner, systemEnvironment } from '../usecases/registration.ts';
import {
  type Arguments,
  type CommandGroup,
  isoTime,
  listReadableOwners,
  notFound,
  type Option,
  readName,
  refusedOwners,
  resolveOwner,
  table,
  UsageError,
  withStore,
} from './command.ts';
import { confirmByName, isAtTerminal } from './confirm.ts';
import { exportCommand } from './owner-export.ts';
import { testEmailCommand } from './test-email.ts';

const profileOptions: Record<string, Option> = {
  name: { kind: 'string', value: 'NAME', help: "the owner's name" },
  email: { kind: 'string', value: 'ADDRESS', help: 'email address' },
  'email-alerts': {
    kind: 'string',
    value: 'on|off',
    help: 'send every notification by email, unless the request disables it',
  },
  role: { kind: 'string', value: 'ROLE', help: 'owner or operator (operators see the list of owners in the console)' },
};

export const ownerCommands: CommandGroup = {
  summary: 'Owners: the people who receive the notifications',
  commands: {
    create: {
      summary: 'Create an owner',
      options: { ...profileOptions, name: { ...(profileOptions.name as Option), required: true } },
      run: async (args, environment) => {
        const email = readEmail(args) ?? null;
        const profile = {
          name: readName(args, 'name') as string,
          email,
          emailAlerts: readAlerts(args) ?? email !== null,
          role: readRole(args) ?? 'owner',
        };
        checkAlerts(profile);
        const owner = await withStore(environment, (store) => createOwner(store, systemEnvironment, profile), 'create');
        return { json: toJson(owner), text: `Created owner ${owner.id} (${owner.name}).` };
      },
    },
    list: {
      summary: 'List all owners',
      run: (_args, environment) =>
        withStore(environment, async (store) => {
          const { owners, refused } = await listReadableOwners(store);
          const isRefused = refused.length > 0;
          return {
            json: [...owners.map(toJson), ...refused.map((id) => ({ id, refused: true }))],
            text: describe(owners, refused),
            ...(isRefused && { warnings: [refusedOwners(refused)], exitCode: 1 }),
          };
        }),
    },
    show: {
      summary: 'Show one owner',
      positional: 'ID',
      run: ({ positional }, environment) =>
        withStore(environment, async (store, config) => {
          const owner = (await store.owners.find(positional)) ?? notFound('owner', positional);
          const use = await store.limits.readQuotaUse(owner.id);
          return {
            json: { ...toJson(owner), storedToday: { ...use, quota: config.quota } },
            text: `${describe([owner])}\n\n${describeUse(use, config.quota)}`,
          };
        }),
    },
    set: {
      summary: 'Change an owner',
      positional: 'ID',
      options: {
        ...profileOptions,
        email: {
          kind: 'string',
          value: 'ADDRESS',
          help: 'email address ("" removes it); adding the first address turns --email-alerts on',
        },
      },
      run: (args, environment) => {
        const [name, email, emailAlerts, role] = [
          readName(args, 'name'),
          readEmail(args),
          readAlerts(args),
          readRole(args),
        ];
        return withStore(environment, async (store) => {
          const change = (before: Owner): Owner => {
            const after = {
              ...before,
              name: name ?? before.name,
              email: email === undefined ? before.email : email,
              emailAlerts: emailAlerts ?? defaultAlerts(before, email),
              role: role ?? before.role,
            };
            checkAlerts(after);
            return after;
          };
          const owner = (await store.owners.change(args.positional, change)) ?? notFound('owner', args.positional);
          const isOffWithAddress = email !== undefined && owner.email !== null && !owner.emailAlerts;
          const hint = `\n\nEmail is off for this owner. Turn it on: 'tocsin owner set ${owner.id} --email-alerts on'.`;
          return { json: toJson(owner), text: `${describe([owner])}${isOffWithAddress ? hint : ''}` };
        });
      },
    },
    'sign-in': {
      summary: 'Create a one-time sign-in link to the console, valid for 15 minutes',
      positional: 'ID',
      isPositionalOptional: true,
      run: ({ positional }, environment) =>
        withStore(environment, async (store, config) => {
          const consoleUrl = consoleUrlOf(config);
          const { id: ownerId } = await resolveOwner(store, positional === '' ? undefined : positional, '');
          const now = Date.now();
          const wanted = { ownerId, method: 'link', lifetimeMs: linkLifetimes.commandLine, now } as const;
          const { url, expiresAt } = await makeLink(store, wanted, consoleUrl);
          return {
            json: { url, expiresAt: isoTime(expiresAt) },
            text: `Open this link within 15 minutes. It works once:\n\n  ${url}`,
          };
        }),
    },
    unlink: {
      summary: "Unlink the owner's OpenID identities; the next sign-in with the email address links again",
      positional: 'ID',
      run: ({ positional: id }, environment) =>
        withStore(environment, async (store) => {
          if ((await store.owners.find(id)) === null) notFound('owner', id);
          const identities = await store.identities.list(id);
          for (const identity of identities) await store.identities.delete(id, identity.id);
          const count = identities.length;
          return {
            json: { id, count },
            text: `Removed ${count} OpenID ${count === 1 ? 'identity' : 'identities'} of owner ${id}.`,
          };
        }),
    },
    'test-email': testEmailCommand,
    export: exportCommand,
    delete: {
      summary: 'Delete an owner with all keys, devices and notifications, and destroy their data key',
      positional: 'ID',
      options: { yes: { kind: 'flag', help: 'skip the confirmation prompt' } },
      run: (args, environment) =>
        withStore(environment, async (store) => {
          const { positional: id } = args;
          // The row is read only for the prompt, so that an owner with a damaged row can be deleted with --yes.
          if (isAtTerminal() && !args.flag('yes')) {
            const { name } = (await store.owners.find(id)) ?? notFound('owner', id);
            await confirmByName(`This deletes ${printable(name)} (${id}) and all their data.`, printable(name));
          }
          if (!(await store.owners.delete(id))) notFound('owner', id);
          return { json: { id, deleted: true }, text: `Deleted owner ${id} and all their data.` };
        }),
    },
  },
};

/** undefined: unchanged; null: remove the address. */
function readEmail(args: Arguments): string | null | undefined {
  const email = args.text('email')?.trim();
  if (email === undefined) return undefined;
  if (email === '') return null;
  if (!isOneAddress(email)) {
    throw new UsageError('--email must be one plain address, such as ann@example.com.');
  }
  return email;
}

function readAlerts(args: Arguments): boolean | undefined {
  const text = args.text('email-alerts');
  const alerts = text === undefined ? undefined : parseSwitch(text);
  if (text !== undefined && alerts === undefined) throw new UsageError('--email-alerts must be on or off.');
  return alerts;
}

/** Adding the first address turns email on, as for a new owner. A changed address keeps the owner's choice. */
function defaultAlerts(before: Owner, email: string | null | undefined): boolean {
  if (email === undefined) return before.emailAlerts;
  return email !== null && (before.email === null || before.emailAlerts);
}

function readRole(args: Arguments): Owner['role'] | undefined {
  const role = args.text('role');
  if (role !== undefined && role !== 'owner' && role !== 'operator')
    throw new UsageError('--role must be owner or operator.');
  return role;
}

/** TOCSIN_CONSOLE_URL; by default the address at which a browser on this machine reaches the console. */
function consoleUrlOf(config: Config): string {
  const url = config.publicAddresses.consoleUrl ?? configuredListeners(config, 0).console;
  if (url !== null) return byName(url);
  throw new Problem('The port of the console is unknown, since TOCSIN_CONSOLE_PORT is 0. Set TOCSIN_CONSOLE_URL.');
}

function checkAlerts({ email, emailAlerts }: Pick<Owner, 'email' | 'emailAlerts'>): void {
  if (emailAlerts && email === null) throw new UsageError('--email-alerts on requires an --email address.');
}

function toJson({ id, name, email, emailAlerts, role, createdAt }: Owner) {
  return { id, name, email, emailAlerts, role, createdAt: isoTime(createdAt) };
}

function describeUse(use: QuotaUse, quota: QuotaUse): string {
  const of = (used: number, limit: number, what: string): string =>
    `${used}${limit === 0 ? '' : ` of ${limit}`} ${what}`;
  return `Stored in the last day: ${of(use.rows, quota.rows, 'notifications')}, ${of(use.bytes, quota.bytes, 'bytes')}.`;
}

function describe(owners: Owner[], refused: readonly string[] = []): string {
  return table(
    ['ID', 'NAME', 'EMAIL', 'ALERTS', 'ROLE', 'CREATED'],
    [
      ...owners.map(({ id, name, email, emailAlerts, role, createdAt }) => [
        id,
        name,
        email ?? '-',
        emailAlerts ? 'on' : 'off',
        role,
        isoTime(createdAt),
      ]),
      ...refused.map((id) => [id, 'REFUSED', '-', '-', '-', '-']),
    ],
    "No owners yet. Create one: 'tocsin owner create --name NAME'.",
  );
}
