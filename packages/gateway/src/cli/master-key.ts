import type { MasterKeyStatus, RotationProgress, RotationReport } from '../usecases/ports/index.ts';
import { type CommandGroup, counted, table, UsageError, withStore } from './command.ts';

export const masterKeyCommands: CommandGroup = {
  summary: 'Master key: status and rotation',
  commands: {
    status: {
      summary: 'Show the active master keys and how many values each encrypts',
      run: (_args, environment) =>
        withStore(environment, async (store) => {
          const status = await store.masterKeys.status();
          return { json: { ...status, rotating: isRotating(status) }, text: describeStatus(status) };
        }),
    },
    rotate: {
      summary: 'Rotate the master key while servers run, or resume an interrupted rotation',
      options: {
        'old-key-to': {
          kind: 'string',
          value: 'FILE',
          help: 'save the old key to FILE (default: master.key.old-DATE beside the key file)',
        },
        'discard-old-key': {
          kind: 'flag',
          help: 'do not save the old key; older backups cannot be restored without it',
        },
      },
      run: (args, environment) =>
        withStore(environment, async (store) => {
          const oldKeyFile = args.text('old-key-to');
          const discardOldKey = args.flag('discard-old-key');
          if (discardOldKey && oldKeyFile !== undefined) {
            throw new UsageError('Pass --old-key-to or --discard-old-key, not both.');
          }
          const report = await store.masterKeys.rotate({
            onProgress: createProgressPrinter(),
            ...(oldKeyFile !== undefined && { oldKeyFile }),
            discardOldKey,
          });
          const { source } = await store.masterKeys.status();
          return { json: report, text: describeReport(report, source, discardOldKey), warnings: warningsOf(report) };
        }),
    },
  },
};

function isRotating({ versions }: MasterKeyStatus): boolean {
  return versions.length > 1;
}

function describeStatus(status: MasterKeyStatus): string {
  const { source, versions, spareKeys, nextKeyGiven } = status;
  const lines = [
    table(
      ['VERSION', 'VALUES', 'STATE'],
      versions.map(({ version, values }, index) => [
        String(version),
        String(values),
        index === 0 ? 'in use' : 'being replaced',
      ]),
      'None yet.',
    ),
    '',
    `The keys come from ${source}.`,
  ];
  if (isRotating(status)) {
    lines.push("A rotation is in progress. If it was interrupted, 'tocsin master-key rotate' resumes it.");
  } else if (nextKeyGiven) lines.push("The first key is new; 'tocsin master-key rotate' activates it.");
  else if (spareKeys > 0) lines.push('An old key that is no longer in use is still configured; you can remove it.');
  return lines.join('\n');
}

function describeReport(report: RotationReport, source: string, isDiscarded: boolean): string {
  const { version, retired, resealed } = report;
  return [
    retired.length === 0
      ? `Version ${version} of the master key (the first in ${source}) is the only active key. To rotate it, run this command again.`
      : `Version ${version} of the master key is active; re-encrypted ${counted(resealed, 'value')}. The old key is no longer used.`,
    `Keep a copy of the new key (${source}), separate from the backups.`,
    describeOldKey(report, isDiscarded),
  ].join('\n');
}

function describeOldKey({ oldKeyFile }: RotationReport, isDiscarded: boolean): string {
  if (oldKeyFile !== null) {
    return (
      `The old key was saved to ${oldKeyFile}. Older backups need it: move it to where you keep copies of keys, and ` +
      'delete it together with the last of those backups.'
    );
  }
  if (isDiscarded) return 'The old key was not saved. Older backups can only be restored with a copy of it.';
  return 'Keep the old key as long as you keep older backups: they cannot be restored without it.';
}

function warningsOf({ damaged, todo }: RotationReport): string[] {
  return [...damaged.map((what) => `${what} cannot be decrypted with any key, and was not changed.`), ...todo];
}

/** Prints each step to stderr, and the counter of the long one at most once a second. */
function createProgressPrinter(): (progress: RotationProgress) => void {
  const texts: Record<Exclude<RotationProgress['step'], 'resealing'>, string> = {
    key_ready: 'The new key is in place.',
    key_in_use: 'Servers encrypt with the new key; re-encrypting existing values.',
    old_key_retired: 'All values are re-encrypted; the old key is retired.',
  };
  let lastAt = performance.now();
  return ({ step, resealed = 0 }) => {
    if (step !== 'resealing') process.stderr.write(`${texts[step]}\n`);
    else if (performance.now() - lastAt > 1000) {
      process.stderr.write(`Re-encrypted ${resealed} values …\n`);
      lastAt = performance.now();
    }
  };
}
