import { resolve } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { readConfig } from '../config/server.ts';
import { writeBackup } from '../store/copy/backup.ts';
import { openSnapshot } from '../store/copy/open-snapshot.ts';
import { type Command, isoTime } from './command.ts';
import { describeCounts, megabytes, showProgress, yieldToServer } from './copy-output.ts';

export const backupCommand: Command = {
  summary: 'Back up the whole store; the server may keep running',
  positional: 'FILE',
  run: async (args, environment) => {
    const config = readConfig(environment);
    const file = resolve(args.positional);
    yieldToServer();
    const snapshot = await openSnapshot(config);
    const progress = showProgress(!args.flag('json'));
    try {
      const about = { version: packageJson.version, createdAt: Date.now() };
      const { manifest, bytes } = await writeBackup(snapshot, file, about, progress.show);
      return {
        json: {
          file,
          bytes,
          createdAt: isoTime(manifest.createdAt),
          rows: Object.fromEntries(manifest.tables.map(({ name, rows }) => [name, rows])),
        },
        text: [
          `${file}, ${megabytes(bytes)}: ${describeCounts(manifest.tables)}.`,
          'Every row was read back and verified. The master key is not included: keep a copy of it elsewhere.',
        ].join('\n'),
      };
    } finally {
      progress.end();
      await snapshot.close();
    }
  },
};
