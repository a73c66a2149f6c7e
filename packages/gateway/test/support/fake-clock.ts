// A process whose wall clock is wrong: libfaketime, https://github.com/wolfcw/libfaketime. Timers run as ever.
import { globSync } from 'node:fs';
import type { Obstacle } from './requires.ts';

const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');

/** null when it is installed: apt-get install faketime. */
export function fakeClockObstacle(): Obstacle {
  return library === undefined ? 'there is no /usr/lib/*/faketime/libfaketimeMT.so.1' : null;
}

/** The environment of a process with its clock off by so much, such as `+100d` or `-1h`. */
export function withClockOff(by: string): Record<string, string> {
  return { LD_PRELOAD: library ?? '', FAKETIME: by, FAKETIME_DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' };
}
