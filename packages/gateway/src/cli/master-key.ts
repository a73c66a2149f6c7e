import type { MasterKeyStatus, RotationProgress, RotationReport } from '../usecases/ports/index.ts';
import { type CommandGroup, counted, table, UsageError, withStore } from './command.ts';

export const masterKeyCommands: CommandGroup = {
  summary: 'Master key: what everything else is sealed under',
  commands: {
    status: {
      summary: 'Show which master keys are in use, and how much each seals',
      run: (_args, environment) =>
        withStore(environment, async (store) => {
          const status = await store.masterKeys.status();
          return { json: { ...status, rotating: isRotating(status) }, text: describeStatus(status) };
        }),
    },
    rotate: {
      summary: 'Replace the master key under running servers, or go on with a replacement that was cut off',
      options: {
        'old-key-to': {
          kind: 'string',
          value: 'FILE',
          help: 'keep the old key there; default: master.key.old-DATE beside the key file',
        },
        'discard-old-key': {
          kind: 'flag',
          help: 'do not keep the old key; backups from before cannot be restored without it',
        },
      },
      run: (args, environment) =>
        withStore(environment, async (store) => {
          const oldKeyFile = args.text('old-key-to');
          const discardOldKey = args.flag('discard-old-key');
          if (discardOldKey && oldKeyFile !== undefined) {
            throw new UsageError('Give --old-key-to or --discard-old-key, not both.');
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
    lines.push("A rotation is under way. If it was cut off, 'tocsin master-key rotate' goes on with it.");
  } else if (nextKeyGiven) lines.push("A new key stands in front; 'tocsin master-key rotate' puts it to use.");
  else if (spareKeys > 0) lines.push('An old key that is not in use any more stands there too; it can be taken out.');
  return lines.join('\n');
}

function describeReport(report: RotationReport, source: string, isDiscarded: boolean): string {
  const { version, retired, resealed } = report;
  return [
    retired.length === 0
      ? `Version ${version} of the master key, the first in ${source}, is in use, and no other. To replace it, run this again.`
      : `Version ${version} of the master key is in use; sealed anew: ${counted(resealed, 'value')}. None is left under the old key.`,
    `Keep a copy of the new key (${source}), apart from the backups.`,
    describeOldKey(report, isDiscarded),
  ].join('\n');
}

function describeOldKey({ oldKeyFile }: RotationReport, isDiscarded: boolean): string {
  if (oldKeyFile !== null) {
    return (
      `The old key is kept in ${oldKeyFile}. Backups from before need it: move it to where you keep copies of keys, and ` +
      'delete it with the last of those backups.'
    );
  }
  if (isDiscarded) return 'The old key was not kept. Backups from before open only with a copy of it, if you have one.';
  return 'Keep the old key as long as you keep backups from before: they open with it alone.';
}

function warningsOf({ damaged, todo }: RotationReport): string[] {
  return [...damaged.map((what) => `${what} does not open with any key, and was left as it is.`), ...todo];
}

/** On stderr; what goes on for long is told once a second. */
function createProgressPrinter(): (progress: RotationProgress) => void {
  const texts: Record<Exclude<RotationProgress['step'], 'resealing'>, string> = {
    key_ready: 'The new key is in its place.',
    key_in_use: 'Servers seal with the new key; sealing anew what the old one sealed.',
    old_key_retired: 'Nothing is left under the old key; it is retired.',
  };
  let lastAt = performance.now();
  return ({ step, resealed = 0 }) => {
    if (step !== 'resealing') process.stderr.write(`${texts[step]}\n`);
    else if (performance.now() - lastAt > 1000) {
      process.stderr.write(`${resealed} values sealed anew …\n`);
      lastAt = performance.now();
    }
  };
}
