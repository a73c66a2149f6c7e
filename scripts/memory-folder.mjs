// Temporary files of the tests in memory: databases, browser profiles and WordPress sites by the hundreds, of which creating
// and deleting on a disk takes more time than the tests themselves.
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const memory = '/dev/shm';
const neededBytes = 8 * 2 ** 30;

/** For this process and those that it starts, unless another folder is set or there is too little memory. */
export function useMemoryForTemporaryFiles() {
  if (!isLarge()) return;
  process.env.TMPDIR ??= shareUntilExit(mkdtempSync(join(memory, 'tocsin-tests-')));
}

function shareUntilExit(folder) {
  // Some tests run programs as another user.
  chmodSync(folder, 0o1777);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  return folder;
}

/** A container has a small one, or one from which no program can be run. */
function isLarge() {
  try {
    const { bavail, bsize } = statfsSync(memory);
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const [, , type, options = ''] = mounts.find((line) => line.split(' ')[1] === memory)?.split(' ') ?? [];
    const canRunPrograms = type === 'tmpfs' && !options.split(',').includes('noexec');
    return canRunPrograms && Math.min(bavail * bsize, process.availableMemory()) >= neededBytes;
  } catch {
    return false;
  }
}
