// What a command is, and what every command can use.
import type { ParseArgsConfig } from 'node:util';
import { lineProblem } from '@tocsin/contract';
import { type Config, readConfig } from '../config/server.ts';
import { printable } from '../core/printable.ts';
import { Problem } from '../core/problem.ts';
import type { Owner, Store } from '../usecases/ports/index.ts';

type OptionConfigs = NonNullable<ParseArgsConfig['options']>;

export interface Option {
  /** `string` takes a value, `strings` may be repeated, `flag` stands alone. */
  kind: 'string' | 'strings' | 'flag';
  /** How the value is called in the help; absent for a flag. */
  value?: string;
  help: string;
  required?: boolean;
}

export interface Arguments {
  text(name: string): string | undefined;
  texts(name: string): string[];
  flag(name: string): boolean;
  /** The argument without a dash, such as an id; empty where an optional one was left out. */
  positional: string;
}

export interface Output {
  json: unknown;
  text: string;
  /** For stderr, with or without --json. */
  warnings?: string[];
  exitCode?: number;
}

export interface Command {
  summary: string;
  /** Name of the one argument without a dash; absent when there is none. */
  positional?: string;
  isPositionalOptional?: true;
  options?: Record<string, Option>;
  /** No output: the command has said what it had to say itself. */
  run(args: Arguments, environment: NodeJS.ProcessEnv): Promise<Output | undefined>;
}

/** `tocsin owner create`: a group of commands about one noun. */
export interface CommandGroup {
  summary: string;
  commands: Record<string, Command>;
}

/** Wrong usage: told in one line, with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const ownerOption: Option = {
  kind: 'string',
  value: 'ID',
  help: 'whose; may be left out while there is one owner',
};

export function toParseArgsOptions(options: Record<string, Option>): OptionConfigs {
  return Object.fromEntries(
    Object.entries(options).map(([name, { kind }]) => [
      name,
      { type: kind === 'flag' ? 'boolean' : 'string', multiple: kind === 'strings' } as const,
    ]),
  );
}

export async function withStore<T>(
  environment: NodeJS.ProcessEnv,
  use: (store: Store, config: Config) => Promise<T>,
  mode: 'create' | 'existing' = 'existing',
): Promise<T> {
  const config = readConfig(environment);
  // Loaded only here: help and wrong usage are told at once.
  const { openStore } = await import('../store/open-store.ts');
  const store = await openStore(config, mode);
  try {
    return await use(store, config);
  } finally {
    await store.close();
  }
}

export async function resolveOwner(store: Store, id: string | undefined, option = '--owner '): Promise<Owner> {
  if (id !== undefined) return (await store.owners.find(id)) ?? notFound('owner', id);
  const { owners, refused } = await listReadableOwners(store);
  const [only, ...others] = owners;
  // One of several owners is never chosen only because the others cannot be read.
  if (refused.length > 0) {
    throw new Problem(
      `Give ${option}ID: the rows of some owners are refused, so it is not clear who is meant.\n${refusedOwners(refused)}`,
    );
  }
  if (only === undefined) throw new Problem("There is no owner yet. Create one: 'tocsin owner create --name NAME'.");
  if (others.length > 0) {
    const list = owners.slice(0, 20).map((owner) => `  ${option}${owner.id}  ${printable(owner.name)}`);
    throw new UsageError(`There are several owners; say which:\n${list.join('\n')}`);
  }
  return only;
}

/** The owners whose rows are in force and decrypt, and the ids of the others. */
export async function listReadableOwners(store: Store): Promise<{ owners: Owner[]; refused: string[] }> {
  const refused: string[] = [];
  const owners = await store.owners.list((id) => refused.push(id));
  return { owners, refused };
}

/** What to do about owners whose rows are refused. */
export function refusedOwners(ids: readonly string[]): string {
  const list = ids.slice(0, 20).join(', ') + (ids.length > 20 ? ', …' : '');
  return (
    `Refused are the rows of ${counted(ids.length, 'owner')}, which were damaged or put back to an earlier state: ` +
    `${list}. See 'tocsin doctor', and "Rows that are refused" in docs/operators.md.`
  );
}

/** A name or label that is given as an option, without white space at its ends; undefined: not given. */
/** The longest name or label that the command line accepts. */
export const nameCharacters = 200;

export function readName(args: Arguments, option: string): string | undefined {
  const name = args.text(option)?.trim();
  if (name === undefined) return undefined;
  const problem = lineProblem(name, nameCharacters);
  if (problem !== null) throw new UsageError(`--${option} ${problem}.`);
  return name;
}

export function notFound(noun: string, id: string): never {
  throw new Problem(`There is no ${noun} ${id}. See 'tocsin ${noun} list'.`);
}

export function isoTime(ms: number): string;
export function isoTime(ms: number | null): string | null;
export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** `1 owner`, `2,000 owners`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** Columns padded to their widest cell; an empty list says so in words. No cell can add a row. */
export function table(header: string[], cells: string[][], whenEmpty: string): string {
  if (cells.length === 0) return whenEmpty;
  const rows = cells.map((row) => row.map(printable));
  const widths = header.map((cell, column) => Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [header, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] as number))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
