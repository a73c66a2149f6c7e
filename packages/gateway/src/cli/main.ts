// The command line: finds the command, parses its arguments, prints its output.
import { parseArgs } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };
import { isTooManyFiles, tooManyFiles } from '../core/file-error.ts';
import { printableJson, printableLines } from '../core/printable.ts';
import { Problem } from '../core/problem.ts';
import { DecryptionFailed, EncryptionKeyMissing, StoreUnavailable } from '../usecases/ports/index.ts';
import {
  type Arguments,
  type Command,
  type CommandGroup,
  type Output,
  toParseArgsOptions,
  UsageError,
} from './command.ts';
import { commandHelp, groupHelp, topHelp } from './help.ts';

/** Commands are loaded on demand, so that small ones start fast. */
const program: Record<string, () => Promise<Command | CommandGroup>> = {
  serve: async () => (await import('./serve.ts')).serveCommand,
  owner: async () => (await import('./owner.ts')).ownerCommands,
  key: async () => (await import('./key.ts')).keyCommands,
  hook: async () => (await import('./hook.ts')).hookCommands,
  device: async () => (await import('./device.ts')).deviceCommands,
  push: async () => (await import('./push.ts')).pushCommands,
  inbox: async () => (await import('./inbox.ts')).inboxCommands,
  delivery: async () => (await import('./delivery.ts')).deliveryCommands,
  backup: async () => (await import('./backup.ts')).backupCommand,
  restore: async () => (await import('./restore.ts')).restoreCommand,
  'migrate-store': async () => (await import('./migrate-store.ts')).migrateStoreCommand,
  'master-key': async () => (await import('./master-key.ts')).masterKeyCommands,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
};

const usageExitCode = 2;
const failureExitCode = 1;

// Files that this program creates (database, keys, backups) are accessible by its user only.
process.umask(0o077);
// A reader that closes the pipe early, such as head(1), is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
process.exitCode = await main(process.argv.slice(2));

async function main(words: string[]): Promise<number> {
  try {
    return await dispatch(words);
  } catch (error) {
    if (error instanceof UsageError) {
      printError(error.message);
      return usageExitCode;
    }
    printError(describe(error));
    return failureExitCode;
  }
}

function describe(error: unknown): string {
  if (isForPeople(error)) return error.message;
  return isTooManyFiles(error) ? tooManyFiles : String((error as Error).stack);
}

/** Errors that are printed without a stack trace: problems of configuration, data or store, not bugs. */
function isForPeople(error: unknown): error is Error {
  return (
    error instanceof Problem ||
    error instanceof StoreUnavailable ||
    error instanceof EncryptionKeyMissing ||
    error instanceof DecryptionFailed
  );
}

async function dispatch([noun, ...rest]: string[]): Promise<number> {
  if (noun === undefined || noun === 'help' || noun === '--help' || noun === '-h') return print(await listCommands());
  if (noun === '--version' || noun === '-v') return print(packageJson.version);
  const found = Object.hasOwn(program, noun) ? await program[noun]?.() : undefined;
  if (found === undefined) throw new UsageError(`Unknown command '${noun}'. 'tocsin --help' lists the commands.`);
  if (!('commands' in found)) return runCommand(noun, found, rest);
  const [verb, ...args] = rest;
  if (verb === undefined || verb === '--help' || verb === '-h') return print(groupHelp(noun, found));
  const command = Object.hasOwn(found.commands, verb) ? found.commands[verb] : undefined;
  if (command === undefined) {
    throw new UsageError(`Unknown command '${noun} ${verb}'. Known: ${Object.keys(found.commands).join(', ')}.`);
  }
  return runCommand(`${noun} ${verb}`, command, args);
}

async function listCommands(): Promise<string> {
  const all = Object.entries(program).map(
    async ([name, load]): Promise<[string, string]> => [name, (await load()).summary],
  );
  return topHelp(await Promise.all(all));
}

async function runCommand(name: string, command: Command, words: string[]): Promise<number> {
  if (words.includes('--help') || words.includes('-h')) return print(commandHelp(name, command));
  const args = readArguments(name, command, words);
  const output = await command.run(args, process.env);
  if (output === undefined) return 0;
  return printOutput(output, args.flag('json'));
}

function readArguments(name: string, command: Command, words: string[]): Arguments {
  const options = command.options ?? {};
  const parsed = parse(name, { ...options, json: { kind: 'flag', help: '' } }, words);
  const values = parsed.values as Record<string, string | string[] | boolean | undefined>;
  for (const [option, { required }] of Object.entries(options)) {
    if (required && values[option] === undefined) throw usage(name, `--${option} is required`);
  }
  const wanted = command.positional === undefined ? 0 : 1;
  if (parsed.positionals.length < wanted && !command.isPositionalOptional)
    throw usage(name, `${command.positional} is missing`);
  if (parsed.positionals.length > wanted) throw usage(name, `Unexpected argument '${parsed.positionals[wanted]}'`);
  return {
    text: (option) => values[option] as string | undefined,
    texts: (option) => (values[option] as string[] | undefined) ?? [],
    flag: (option) => values[option] === true,
    positional: parsed.positionals[0] ?? '',
  };
}

function parse(name: string, options: NonNullable<Command['options']>, words: string[]) {
  try {
    return parseArgs({ args: words, options: toParseArgsOptions(options), allowPositionals: true, strict: true });
  } catch (error) {
    throw usage(name, (error as Error).message.split('. ')[0] ?? '');
  }
}

function usage(name: string, problem: string): UsageError {
  return new UsageError(`${problem}. See 'tocsin ${name} --help'.`);
}

function printOutput({ json, text, warnings = [], exitCode = 0 }: Output, asJson: boolean): number {
  for (const warning of warnings) printError(warning);
  if (asJson) process.stdout.write(`${printableJson(JSON.stringify(json))}\n`);
  else print(text);
  return exitCode;
}

/** Escapes control characters, so that text from callers and owners cannot control the terminal. */
function print(text: string): number {
  process.stdout.write(`${printableLines(text)}\n`);
  return 0;
}

function printError(text: string): void {
  process.stderr.write(`${printableLines(text)}\n`);
}
