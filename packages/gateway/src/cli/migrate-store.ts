import { readConfig } from '../config/server.ts';
import { databaseUrlWanted, parseDatabaseUrl } from '../core/database-url.ts';
import { Problem } from '../core/problem.ts';
import { migrateStore } from '../store/migrate-store.ts';
import { type Command, UsageError } from './command.ts';
import { describeCounts, showProgress, yieldToServer } from './copy-output.ts';

export const migrateStoreCommand: Command = {
  summary: 'Copy the embedded store to a PostgreSQL database; repeat to copy later changes',
  options: {
    to: {
      kind: 'string',
      value: 'URL',
      required: true,
      help: 'postgres://user@host/database; the password may also come from PGPASSWORD',
    },
    replace: { kind: 'flag', help: 'overwrite existing data of this installation' },
  },
  run: async (args, environment) => {
    const url = readUrl(args.text('to') ?? '');
    const config = readConfig(environment);
    if (config.databaseUrl !== null) {
      throw new Problem(
        'TOCSIN_DATABASE_URL is set: this installation already uses PostgreSQL. Unset it to copy from the data directory.',
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
          `Added ${added} rows, changed ${changed}, removed ${removed}. Every row was read back and verified.`,
          'If the server was running, stop it and run this command again; then start it with TOCSIN_DATABASE_URL.',
        ].join('\n'),
      };
    } finally {
      progress.end();
    }
  },
};

/** The store names the setting in its errors; here the URL comes from the option. */
function nameTheOption(error: unknown): never {
  if (!(error instanceof Problem)) throw error;
  throw new Problem(error.message.replaceAll('TOCSIN_DATABASE_URL', '--to'));
}

/** The error does not quote the URL, because it may contain a password. */
function readUrl(text: string): string {
  const url = parseDatabaseUrl(text);
  if (url === undefined) throw new UsageError(`--to must be ${databaseUrlWanted}.`);
  return url;
}
