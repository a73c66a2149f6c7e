import { readFile } from 'node:fs/promises';

/** Resident memory in MB of processes and the workers that they forked; null if the system has no /proc. */
export async function residentMegabytes(pids: readonly number[]): Promise<number | null> {
  try {
    const families = await Promise.all(pids.map(familyOf));
    const kilobytes = await Promise.all(families.flat().map(residentKilobytes));
    return kilobytes.reduce((sum, each) => sum + each, 0) / 1024;
  } catch {
    return null;
  }
}

async function familyOf(pid: number): Promise<number[]> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim();
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number))];
}

async function residentKilobytes(pid: number): Promise<number> {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
