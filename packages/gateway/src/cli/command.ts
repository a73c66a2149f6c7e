// The types of commands, and helpers that every command can use.
import type { ParseArgsConfig } from 'node:util';
import { lineProblem } from '@tocsin/contract';
import { type Config, readConfig } from '../config/server.ts';
import { printable } from '../core/printable.ts';
import { Problem } from '../core/problem.ts';
import type { Owner, Store } from '../usecases/ports/index.ts';

type OptionConfigs = NonNullable<ParseArgsConfig['options']>;

export interface Option {
  /** `string` takes a value, `strings` takes one and may be repeated, `flag` takes none. */
  kind: 'string' | 'strings' | 'flag';
  /** Placeholder of the value in the help; absent for a flag. */
  value?: string;
  help: string;
  required?: boolean;
}

export interface Arguments {
  text(name: string): string | undefined;
  texts(name: string): string[];
  flag(name: string): boolean;
  /** The positional argument, such as an id; empty if an optional one is missing. */
  positional: string;
}

export interface Output {
  json: unknown;
  text: string;
  /** Printed to stderr, with and without --json. */
  warnings?: string[];
  exitCode?: number;
}

export interface Command {
  summary: string;
  /** Name of the positional argument; absent if the command takes none. */
  positional?: string;
  isPositionalOptional?: true;
  options?: Record<string, Option>;
  /** undefined: the command has written its own output. */
  run(args: Arguments, environment: NodeJS.ProcessEnv): Promise<Output | undefined>;
}

/** `tocsin owner create`: a group of commands about one noun. */
export interface CommandGroup {
  summary: string;
  commands: Record<string, Command>;
}

/** Wrong usage: printed as one line, with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const ownerOption: Option = {
  kind: 'string',
  value: 'ID',
  help: 'owner id (optional if there is only one)',
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
  // Loaded only here, so that help and usage errors are printed at once.
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
  // The only readable owner is not chosen by default while the rows of others are refused.
  if (refused.length > 0) {
    throw new Problem(
      `Pass ${option}ID: the rows of some owners are refused, so the owner is ambiguous.\n${refusedOwners(refused)}`,
    );
  }
  if (only === undefined) throw new Problem("There is no owner yet. Create one: 'tocsin owner create --name NAME'.");
  if (others.length > 0) {
    const list = owners.slice(0, 20).map((owner) => `  ${option}${owner.id}  ${printable(owner.name)}`);
    throw new UsageError(`There are several owners. Choose one:\n${list.join('\n')}`);
  }
  return only;
}

/** The owners whose rows are current and can be decrypted, and the ids of those whose rows are refused. */
export async function listReadableOwners(store: Store): Promise<{ owners: Owner[]; refused: string[] }> {
  const refused: string[] = [];
  const owners = await store.owners.list((id) => refused.push(id));
  return { owners, refused };
}

/** Explains what to do about owners whose rows are refused. */
export function refusedOwners(ids: readonly string[]): string {
  const list = ids.slice(0, 20).join(', ') + (ids.length > 20 ? ', …' : '');
  return (
    `The rows of ${counted(ids.length, 'owner')} are refused, because they were damaged or rolled back: ` +
    `${list}. See 'tocsin doctor', and "Rows that are refused" in docs/operators.md.`
  );
}

/** The longest name or label that the command line accepts. */
export const nameCharacters = 200;

/** Reads a name or label from an option and trims it; undefined if the option is absent. */
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

/** Pads columns to their widest cell, or returns `whenEmpty`. Line breaks inside cells are escaped. */
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
