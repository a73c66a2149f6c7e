import { readConfig } from '../config/server.ts';
import { databaseUrlWanted, parseDatabaseUrl } from '../core/database-url.ts';
import { Problem } from '../core/problem.ts';
import { migrateStore } from '../store/migrate-store.ts';
import { type Command, UsageError } from './command.ts';
import { describeCounts, showProgress, yieldToServer } from './copy-output.ts';

export const migrateStoreCommand: Command = {
  summary: 'Copy the embedded store into a PostgreSQL database; repeat it to bring over what changed',
  options: {
    to: {
      kind: 'string',
      value: 'URL',
      required: true,
      help: 'postgres://user@host/database; password also by PGPASSWORD',
    },
    replace: { kind: 'flag', help: 'lose what the database holds, if this installation wrote it' },
  },
  run: async (args, environment) => {
    const url = readUrl(args.text('to') ?? '');
    const config = readConfig(environment);
    if (config.databaseUrl !== null) {
      throw new Problem(
        'TOCSIN_DATABASE_URL is set: this installation is on PostgreSQL already. Unset it to copy from the data directory.',
      );
    }
    const progress = showProgress(!args.flag('json'));
    yieldToServer();
    const startedAt = performance.now();
    try {
      const tables = await migrateStore(config, url, args.flag('replace'), progress.show).catch(nameTheOption);
      const seconds = (performance.now() - startedAt) / 1000;
      const [added, changed, removed] = (['added', 'changed', 'removed'] as const).map((name) =>
        tables.reduce((sum, table) => sum + table[name], 0),
      ) as [number, number, number];
      return {
        json: {
          rows: Object.fromEntries(tables.map(({ name, rows }) => [name, rows])),
          added,
          changed,
          removed,
        },
        text: [
          `Copied in ${seconds.toFixed(1)} s: ${describeCounts(tables)}.`,
          `${added} were added, ${changed} changed and ${removed} removed. Every row was read back and is as it was.`,
          'If the server ran meanwhile, stop it and run this once more; then start it with TOCSIN_DATABASE_URL.',
        ].join('\n'),
      };
    } finally {
      progress.end();
    }
  },
};

/** Whoever opens a database takes it for the one that the server would use. */
function nameTheOption(error: unknown): never {
  if (!(error instanceof Problem)) throw error;
  throw new Problem(error.message.replaceAll('TOCSIN_DATABASE_URL', '--to'));
}

/** What is wrong with it is said without repeating it: there may be a password in it. */
function readUrl(text: string): string {
  const url = parseDatabaseUrl(text);
  if (url === undefined) throw new UsageError(`--to must be ${databaseUrlWanted}.`);
  return url;
}
