import { readFile } from 'node:fs/promises';
import { formatRate, hookPath, parseRate, type Severity, severities } from '@tocsin/contract';
import { channels } from '../channels/registry.ts';
import type { Config } from '../config/server.ts';
import { listenerUrl, reachable } from '../core/device-urls.ts';
import { parseDuration } from '../core/duration.ts';
import { describeFileError } from '../core/file-error.ts';
import { Problem } from '../core/problem.ts';
import { isIgnored, type SenderRequest } from '../senders/event.ts';
import { choosePreset, genericPreset, presetNames, readEvent } from '../senders/presets/index.ts';
import { readEventBody } from '../senders/read-body.ts';
import { toRequest } from '../senders/to-request.ts';
import { hookProblems } from '../usecases/hook-fields.ts';
import { type CreatedHook, createHook, type HookFields, rotateHookToken } from '../usecases/hooks.ts';
import type { Hook, Store } from '../usecases/ports/index.ts';
import { systemEnvironment } from '../usecases/registration.ts';
import {
  type Arguments,
  type Command,
  type CommandGroup,
  isoTime,
  listReadableOwners,
  notFound,
  type Option,
  ownerOption,
  resolveOwner,
  table,
  UsageError,
  withStore,
} from './command.ts';
import { readSecret } from './secret-input.ts';

const defaultOverlap = '1h';
const none = 'none';

const fieldOptions: Record<string, Option> = {
  preset: { kind: 'string', value: 'PRESET', help: `the sender: ${presetNames().join(', ')} (default auto)` },
  'secret-file': {
    kind: 'string',
    value: 'FILE',
    help: 'the signing secret of the sender, in this file, or from standard input with -',
  },
  severity: { kind: 'string', value: 'SEVERITY', help: `for events that have none: ${severities.join(', ')}` },
  'rate-limit': { kind: 'string', value: 'RATE', help: 'such as 100/m (s, m, h, d)' },
  'repeat-window': {
    kind: 'string',
    value: 'TIME',
    help: 'how long an identical body without a delivery id is the same delivery (default 2m)',
  },
  'without-channel': {
    kind: 'strings',
    value: 'CHANNEL',
    help: `do not send to this channel: ${channels.map(({ name }) => name).join(', ')}`,
  },
  'allow-get': { kind: 'flag', help: 'accept GET, for devices that cannot POST; link previews send it too' },
};

export const hookCommands: CommandGroup = {
  summary: 'Hooks: addresses that webhooks of other programs are sent to',
  commands: {
    create: {
      summary: 'Create a hook; its address is shown once',
      options: {
        owner: ownerOption,
        name: { kind: 'string', value: 'NAME', help: 'the sender, as it is shown in the inbox', required: true },
        ...fieldOptions,
      },
      run: async (args, environment) => {
        const fields = await readFields(args);
        check(fields);
        return withStore(environment, async (store, config) => {
          const { id: ownerId } = await resolveOwner(store, args.text('owner'));
          const name = fields.name ?? '';
          return shown(await createHook(store, systemEnvironment, { ...fields, ownerId, name }), config, 'Created');
        });
      },
    },
    list: {
      summary: 'List the hooks of an owner',
      options: { owner: ownerOption },
      run: (args, environment) =>
        withStore(environment, async (store) => {
          const damaged: string[] = [];
          const { id } = await resolveOwner(store, args.text('owner'));
          const hooks = await store.hooks.list(id, (hookId) => damaged.push(hookId));
          const warnings = damaged.map(
            (hookId) => `Hook ${hookId} is damaged and not accepted: see 'tocsin doctor --deep'.`,
          );
          return { json: hooks.map(toJson), text: describe(hooks), warnings };
        }),
    },
    show: {
      summary: 'Show a hook',
      positional: 'HOOKID',
      run: ({ positional }, environment) =>
        withStore(environment, async (store) => {
          const hook = await find(store, positional);
          return { json: toJson(hook), text: describe([hook]) };
        }),
    },
    set: {
      summary: `Change a hook; '${none}' removes a secret, severity or limit`,
      positional: 'HOOKID',
      options: {
        name: { kind: 'string', value: 'NAME', help: 'the sender, as it is shown in the inbox' },
        ...fieldOptions,
      },
      run: async (args, environment) => {
        const fields = await readFields(args);
        return withStore(environment, async (store) => {
          check({ ...(await find(store, args.positional)), ...fields });
          return changed(store, args.positional, (hook) => ({ ...hook, ...fields }), 'Changed');
        });
      },
    },
    rotate: {
      summary: 'Replace the address; the one before it works for a while',
      positional: 'HOOKID',
      options: {
        overlap: { kind: 'string', value: 'TIME', help: `how long the old address works (default ${defaultOverlap})` },
      },
      run: (args, environment) => {
        const overlapMs = readDuration(args.text('overlap') ?? defaultOverlap, '--overlap');
        return withStore(environment, async (store, config) => {
          const rotated = await rotateHookToken(store, systemEnvironment, args.positional, overlapMs);
          return shown(rotated ?? notFound('hook', args.positional), config, 'Rotated');
        });
      },
    },
    disable: switching('Disable a hook; its sender gets 404', (hook) => ({
      ...hook,
      disabledAt: hook.disabledAt ?? systemEnvironment.now(),
    })),
    enable: switching('Enable a hook that was disabled', (hook) => ({ ...hook, disabledAt: null })),
    delete: {
      summary: 'Delete a hook',
      positional: 'HOOKID',
      run: ({ positional }, environment) =>
        withStore(environment, async (store) => {
          if (!(await store.hooks.delete(positional))) notFound('hook', positional);
          return { json: { id: positional, deleted: true }, text: `Deleted hook ${positional}.` };
        }),
    },
    preview: {
      summary: 'Print the notification that a request to a hook would become',
      positional: 'HOOKID',
      options: {
        file: { kind: 'string', value: 'FILE', help: 'the body of the request', required: true },
        header: { kind: 'strings', value: "'NAME: VALUE'", help: 'a header of the request' },
        path: { kind: 'string', value: 'PATH', help: 'what follows the token in the address' },
      },
      run: async (args, environment) => {
        const request = await readRequest(args);
        return withStore(environment, async (store) => preview(await find(store, args.positional), request));
      },
    },
  },
};

function switching(summary: string, change: (hook: Hook) => Hook): Command {
  return {
    summary,
    positional: 'HOOKID',
    run: ({ positional }, environment) =>
      withStore(environment, (store) => changed(store, positional, change, 'Changed')),
  };
}

async function changed(store: Store, id: string, change: (hook: Hook) => Hook, done: string) {
  const hook = (await store.hooks.change(id, change)) ?? notFound('hook', id);
  return { json: toJson(hook), text: `${done} hook ${hook.id}.\n\n${describe([hook])}` };
}

async function find(store: Store, id: string): Promise<Hook> {
  const { owners } = await listReadableOwners(store);
  for (const owner of owners) {
    const hook = (await store.hooks.list(owner.id, () => undefined)).find((each) => each.id === id);
    if (hook !== undefined) return hook;
  }
  return notFound('hook', id);
}

/** Only what was given. */
async function readFields(args: Arguments): Promise<Partial<HookFields>> {
  const secret = await readSecret(args, 'secret');
  const given = {
    name: args.text('name')?.trim(),
    preset: args.text('preset'),
    secret: secret === none ? null : secret,
    severity: readSeverity(args.text('severity')),
    rateLimit: readRate(args.text('rate-limit')),
    repeatSeconds: readRepeatWindow(args.text('repeat-window')),
    disabledChannels: args.texts('without-channel').length === 0 ? undefined : readChannels(args),
    allowsGet: args.flag('allow-get') ? true : undefined,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function readChannels(args: Arguments): string[] {
  return args.texts('without-channel').filter((name) => name !== none);
}

function readSeverity(text: string | undefined): Severity | null | undefined {
  if (text === undefined || text === none) return text === none ? null : undefined;
  const known = severities.find((name) => name === text);
  if (known === undefined) throw new UsageError(`--severity must be one of ${severities.join(', ')} or ${none}.`);
  return known;
}

function readRate(text: string | undefined): Hook['rateLimit'] | undefined {
  if (text === undefined || text === none) return text === none ? null : undefined;
  const rate = parseRate(text);
  if (rate === undefined) throw new UsageError('--rate-limit must be such as 100/m (s, m, h, d).');
  return rate;
}

function readRepeatWindow(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Math.round(readDuration(text, '--repeat-window') / 1000);
}

function readDuration(text: string, option: string): number {
  const duration = text === '0' ? 0 : parseDuration(text);
  if (duration === undefined) throw new UsageError(`${option} must be a time such as 2m, 12h or 30d.`);
  return duration;
}

const optionNames: Readonly<Record<string, string>> = {
  secret: '--secret-file',
  repeatSeconds: '--repeat-window',
  disabledChannels: '--without-channel',
};

function check(fields: Partial<HookFields>): void {
  const [wrong] = hookProblems(
    fields,
    channels.map(({ name }) => name),
  );
  if (wrong !== undefined) throw new UsageError(`${optionNames[wrong.field] ?? `--${wrong.field}`} ${wrong.problem}.`);
}

async function readRequest(args: Arguments): Promise<SenderRequest> {
  const file = args.text('file') as string;
  const headers = Object.fromEntries(args.texts('header').map(readHeader));
  const raw = await readFile(file).catch((error: unknown) => {
    throw new Problem(`--file: ${file} cannot be read: ${describeFileError(error)}.`);
  });
  const path = args.text('path')?.replace(/^\//, '') ?? '';
  return { method: 'POST', path, query: new URLSearchParams(), headers, body: await readEventBody(raw, headers) };
}

function readHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  if (colon < 1) throw new UsageError(`--header must be 'Name: value', not '${line}'.`);
  return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
}

function preview(hook: Hook, request: SenderRequest) {
  const preset = choosePreset(hook.preset, request);
  const presetName = preset?.name ?? genericPreset;
  const event = readEvent(preset, request, (name, error) => {
    throw new Problem(`The preset ${name} failed: ${(error as Error).message}.`);
  });
  if (isIgnored(event)) {
    const text = `Preset ${presetName}: ignored, because ${event.ignored}.`;
    return { json: { preset: presetName, ignored: event.ignored }, text };
  }
  const { data: _, ...content } = toRequest(event, request, hook).content;
  const { original: __, ...fields } = event;
  const shownFields = { ...fields, ...content };
  return {
    json: { preset: presetName, ...shownFields },
    text: [`preset    ${presetName}`, ...Object.entries(shownFields).map(describeField)].filter(Boolean).join('\n'),
  };
}

function describeField([name, value]: [string, unknown]): string {
  if (value === undefined || value === null || value === '') return '';
  return `${name.padEnd(10)}${typeof value === 'string' ? value.replaceAll('\n', `\n${' '.repeat(10)}`) : JSON.stringify(value)}`;
}

function shown({ hook, token }: CreatedHook, config: Config, done: string) {
  const url = `${addressOf(config)}${hookPath.slice(1)}${token}`;
  return {
    json: { ...toJson(hook), url, token },
    text: `${done} hook ${hook.id} (${hook.name}). Its address is shown only now, and is a credential:\n\n  ${url}`,
  };
}

/** The public API, with a slash at the end. */
function addressOf({ publicAddresses, host, port, tls }: Config): string {
  if (publicAddresses.apiUrl !== null) return publicAddresses.apiUrl;
  const url = listenerUrl(tls === null ? 'http' : 'https', host, port);
  return url === null ? '/' : `${reachable(url)}/`;
}

function toJson(hook: Hook) {
  return {
    id: hook.id,
    owner: hook.ownerId,
    name: hook.name,
    preset: hook.preset,
    state: hook.disabledAt === null ? 'enabled' : 'disabled',
    isSigned: hook.secret !== null,
    severity: hook.severity,
    withoutChannels: hook.disabledChannels,
    rateLimit: hook.rateLimit === null ? null : formatRate(hook.rateLimit),
    repeatSeconds: hook.repeatSeconds,
    allowsGet: hook.allowsGet,
    createdAt: isoTime(hook.createdAt),
    disabledAt: isoTime(hook.disabledAt),
  };
}

function describe(hooks: Hook[]): string {
  return table(
    ['ID', 'NAME', 'PRESET', 'STATE', 'SIGNED', 'SEVERITY', 'LIMIT', 'CREATED'],
    hooks.map((hook) => [
      hook.id,
      hook.name,
      hook.preset,
      hook.disabledAt === null ? 'enabled' : 'disabled',
      hook.secret === null ? '-' : 'yes',
      hook.severity ?? '-',
      hook.rateLimit === null ? '-' : formatRate(hook.rateLimit),
      isoTime(hook.createdAt),
    ]),
    "No hooks yet. Create one: 'tocsin hook create --name NAME'.",
  );
}
