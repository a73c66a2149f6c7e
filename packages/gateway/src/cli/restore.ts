import { resolve } from 'node:path';
import { readConfig } from '../config/server.ts';
import { restore } from '../store/copy/restore.ts';
import { type Command, isoTime } from './command.ts';
import { describeCounts, showProgress } from './copy-output.ts';

export const restoreCommand: Command = {
  summary: 'Put a backup back, into a store that is empty',
  positional: 'FILE',
  options: {
    replace: { kind: 'flag', help: 'also over a store that holds data; a database file is moved aside, not deleted' },
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
          'Every row was read back and is as it was.',
          ...(kept === null ? [] : [`What was there before is in ${kept}.`]),
        ].join('\n'),
      };
    } finally {
      progress.end();
    }
  },
};
