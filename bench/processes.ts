// Memory and processor time of servers, with the workers that they forked. Linux only: figures are null elsewhere.
import { readFile } from 'node:fs/promises';

/** USER_HZ: /proc counts in hundredths of a second on every architecture that Node supports. */
const ticksPerSecond = 100;

/** Resident memory in MB. */
export function residentMegabytes(pids: readonly number[]): Promise<number | null> {
  return sumOverFamilies(pids, async (pid) => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  });
}

/** User and system time of all threads so far, in seconds. */
export function processorSeconds(pids: readonly number[]): Promise<number | null> {
  return sumOverFamilies(pids, async (pid) => {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // proc_pid_stat(5): the name of the program, in parentheses, may contain spaces; utime and stime are fields 14 and 15.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  });
}

async function sumOverFamilies(
  pids: readonly number[],
  figureOf: (pid: number) => Promise<number>,
): Promise<number | null> {
  try {
    const families = await Promise.all(pids.map(familyOf));
    const figures = await Promise.all(families.flat().map(figureOf));
    return figures.reduce((sum, each) => sum + each, 0);
  } catch {
    return null;
  }
}

async function familyOf(pid: number): Promise<number[]> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim();
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number))];
}
