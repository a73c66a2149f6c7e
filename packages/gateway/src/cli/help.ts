import type { Command, CommandGroup } from './command.ts';

/** Help without a command: `commands` are pairs of name and summary. */
export function topHelp(commands: [string, string][]): string {
  return [
    'tocsin: one POST delivers a notification by push, email and MQTT.',
    '',
    'Usage: tocsin COMMAND [options]',
    '',
    columns(commands),
    '',
    "'tocsin COMMAND --help' shows details. With --json, every command prints one JSON value.",
    'Settings come from the environment (TOCSIN_…); docs/operators.md lists them.',
  ].join('\n');
}

export function groupHelp(noun: string, group: CommandGroup): string {
  const rows = Object.entries(group.commands).map(([verb, command]): [string, string] => [
    `${noun} ${verb}${positionalOf(command)}`,
    command.summary,
  ]);
  return [`${group.summary}.`, '', columns(rows), '', `'tocsin ${noun} VERB --help' lists the options.`].join('\n');
}

export function commandHelp(name: string, command: Command): string {
  const rows = Object.entries(command.options ?? {}).map(
    ([option, { value, help, required, kind }]): [string, string] => [
      `--${option}${value === undefined ? '' : ` ${value}`}`,
      `${help}${required ? ' (required)' : ''}${kind === 'strings' ? ' (may be repeated)' : ''}`,
    ],
  );
  return [
    `${command.summary}.`,
    '',
    `Usage: tocsin ${name}${positionalOf(command)} [options]`,
    '',
    columns([...rows, ['--json', 'print one JSON value instead of text']]),
  ].join('\n');
}

function positionalOf({ positional, isPositionalOptional }: Command): string {
  if (positional === undefined) return '';
  return isPositionalOptional ? ` [${positional}]` : ` ${positional}`;
}

function columns(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
