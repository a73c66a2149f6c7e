import { parseSwitch } from '../config.ts';
import type { Owner } from '../gateway/ports.ts';
import { createOwner, systemMakers as makers } from '../gateway/registration.ts';
import {
  type Arguments,
  type CommandGroup,
  isoTime,
  notFound,
  type Option,
  table,
  UsageError,
  withStore,
} from './command.ts';
import { confirmByName, isAtTerminal } from './confirm.ts';
import { exportCommand } from './owner-export.ts';
import { testEmailCommand } from './test-sends.ts';

const profileOptions: Record<string, Option> = {
  name: { kind: 'string', value: 'NAME', help: "the owner's name" },
  email: { kind: 'string', value: 'ADDRESS', help: 'where mail goes' },
  'email-alerts': { kind: 'string', value: 'on|off', help: 'mail every notification unless a request says otherwise' },
};

export const ownerCommands: CommandGroup = {
  summary: 'Owners: the people who get the notifications',
  commands: {
    create: {
      summary: 'Create an owner',
      options: { ...profileOptions, name: { ...(profileOptions.name as Option), required: true } },
      run: async (args, environment) => {
        const email = readEmail(args) ?? null;
        const profile = { name: readName(args) as string, email, emailAlerts: readAlerts(args) ?? email !== null };
        checkAlerts(profile);
        const owner = await withStore(environment, (store) => createOwner(store, makers, profile), 'create');
        return { json: toJson(owner), text: `Created owner ${owner.id} (${owner.name}).` };
      },
    },
    list: {
      summary: 'List all owners',
      run: (_args, environment) =>
        withStore(environment, async (store) => {
          const owners = await store.listOwners();
          return { json: owners.map(toJson), text: describe(owners) };
        }),
    },
    show: {
      summary: 'Show one owner',
      positional: 'ID',
      run: ({ positional }, environment) =>
        withStore(environment, async (store) => {
          const owner = (await store.findOwner(positional)) ?? notFound('owner', positional);
          return { json: toJson(owner), text: describe([owner]) };
        }),
    },
    set: {
      summary: 'Change an owner',
      positional: 'ID',
      options: {
        ...profileOptions,
        email: { kind: 'string', value: 'ADDRESS', help: 'where mail goes; "" removes it' },
      },
      run: (args, environment) => {
        const [name, email, emailAlerts] = [readName(args), readEmail(args), readAlerts(args)];
        return withStore(environment, async (store) => {
          const before = (await store.findOwner(args.positional)) ?? notFound('owner', args.positional);
          const owner: Owner = {
            ...before,
            name: name ?? before.name,
            email: email === undefined ? before.email : email,
            emailAlerts: emailAlerts ?? (email === null ? false : before.emailAlerts),
          };
          checkAlerts(owner);
          await store.updateOwner(owner);
          return { json: toJson(owner), text: describe([owner]) };
        });
      },
    },
    'test-email': testEmailCommand,
    export: exportCommand,
    delete: {
      summary: 'Delete an owner with all keys, devices and notifications, and shred their data key',
      positional: 'ID',
      options: { yes: { kind: 'flag', help: 'do not ask, also on a terminal' } },
      run: (args, environment) =>
        withStore(environment, async (store) => {
          const { positional: id } = args;
          // Not looked at without need: an owner whose row is damaged can be deleted, too.
          if (isAtTerminal() && !args.flag('yes')) {
            const { name } = (await store.findOwner(id)) ?? notFound('owner', id);
            await confirmByName(`This deletes ${name} (${id}) and everything of theirs.`, name);
          }
          if (!(await store.deleteOwner(id))) notFound('owner', id);
          return { json: { id, deleted: true }, text: `Deleted owner ${id} and everything of theirs.` };
        }),
    },
  },
};

function readName(args: Arguments): string | undefined {
  const name = args.text('name')?.trim();
  if (name !== undefined && (name === '' || name.length > 200))
    throw new UsageError('--name must have 1 to 200 characters.');
  return name;
}

/** undefined: not given; null: to be removed. */
function readEmail(args: Arguments): string | null | undefined {
  const email = args.text('email')?.trim();
  if (email === undefined) return undefined;
  if (email === '') return null;
  // Exactly one plain address: a list, a display name or a control character would send mail elsewhere.
  if (email.length > 254 || !/^[^\s@<>(),;:"\\[\]\p{Cc}]+@[^\s@<>(),;:"\\[\]\p{Cc}]+$/u.test(email)) {
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

function checkAlerts({ email, emailAlerts }: Pick<Owner, 'email' | 'emailAlerts'>): void {
  if (emailAlerts && email === null) throw new UsageError('--email-alerts on needs an --email to send to.');
}

function toJson({ id, name, email, emailAlerts, createdAt }: Owner) {
  return { id, name, email, emailAlerts, createdAt: isoTime(createdAt) };
}

function describe(owners: Owner[]): string {
  return table(
    ['ID', 'NAME', 'EMAIL', 'ALERTS', 'CREATED'],
    owners.map(({ id, name, email, emailAlerts, createdAt }) => [
      id,
      name,
      email ?? '-',
      emailAlerts ? 'on' : 'off',
      isoTime(createdAt),
    ]),
    "No owners yet. Create one: 'tocsin owner create --name NAME'.",
  );
}
