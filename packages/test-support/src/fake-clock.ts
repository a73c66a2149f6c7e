// A process whose wall clock is wrong: libfaketime, https://github.com/wolfcw/libfaketime. Timers are not affected.
import { globSync, writeFileSync } from 'node:fs';
import type { Obstacle } from './requires.ts';

const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');

/** null when it is installed: apt-get install faketime. */
export function fakeClockObstacle(): Obstacle {
  return library === undefined ? 'there is no /usr/lib/*/faketime/libfaketimeMT.so.1' : null;
}

/** The environment of a process with its clock off by a duration such as `+100d` or `-1h`. */
export function withClockOff(by: string): Record<string, string> {
  return { LD_PRELOAD: library ?? '', FAKETIME: by, FAKETIME_DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' };
}

/** A clock that jumps while its process runs. */
export class JumpingClock {
  readonly environment: Record<string, string>;
  readonly #path: string;

  /** `path`: a file with the current offset of the clock. */
  constructor(path: string) {
    this.#path = path;
    this.setOff('+0');
    const { LD_PRELOAD = '', FAKETIME_DONT_FAKE_MONOTONIC = '', NO_FAKE_STAT = '' } = withClockOff('+0');
    this.environment = {
      ...{ LD_PRELOAD, FAKETIME_DONT_FAKE_MONOTONIC, NO_FAKE_STAT },
      ...{ FAKETIME_TIMESTAMP_FILE: path, FAKETIME_NO_CACHE: '1' },
    };
  }

  /** Sets the offset, such as `+2d`; with `+0` the clock is right. */
  setOff(by: string): void {
    writeFileSync(this.#path, `${by}\n`);
  }
}
