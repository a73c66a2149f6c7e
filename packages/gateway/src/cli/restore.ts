import { resolve } from 'node:path';
import { readConfig } from '../config/server.ts';
import { restore } from '../store/copy/restore.ts';
import { type Command, isoTime } from './command.ts';
import { describeCounts, showProgress } from './copy-output.ts';

export const restoreCommand: Command = {
  summary: 'Restore a backup into an empty store',
  positional: 'FILE',
  options: {
    replace: { kind: 'flag', help: 'replace a store that has data; a database file is renamed, not deleted' },
  },
  run: async (args, environment) => {
    const config = readConfig(environment);
    const file = resolve(args.positional);
    const progress = showProgress(!args.flag('json'));
    try {
      const options = { replace: args.flag('replace'), now: Date.now() };
      const { manifest, tables, kept } = await restore(config, file, options, progress.show);
      return {
        json: {
          file,
          createdAt: isoTime(manifest.createdAt),
          rows: Object.fromEntries(tables.map(({ name, rows }) => [name, rows])),
          kept,
        },
        text: [
          `Restored ${file} of ${isoTime(manifest.createdAt)}: ${describeCounts(tables)}.`,
          'Every row was read back and verified.',
          ...(kept === null ? [] : [`The previous database is in ${kept}.`]),
        ].join('\n'),
      };
    } finally {
      progress.end();
    }
  },
};
