// Some suites need more of the machine than Node. Where it is missing they are skipped with a conspicuous line;
// in CI they fail, so that no promise goes unchecked in silence.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { TestContext } from 'node:test';

/** What stands in the way of a test, in words; null when nothing does. */
export type Obstacle = string | null;

/** True when the test can run. Otherwise it has been skipped, or, where CI=true, has failed. */
export function canRun(t: TestContext, obstacle: Obstacle): boolean {
  if (obstacle === null) return true;
  assert.notEqual(process.env.CI, 'true', `This machine cannot run the test: ${obstacle}`);
  t.diagnostic(`SKIPPED, NOT PROVED HERE: "${t.name}": ${obstacle}`);
  t.skip(obstacle);
  return false;
}

/** strace has to be there, and to be allowed to trace a child. */
export function straceObstacle(): Obstacle {
  return obstacleIn('strace', ['-f', '--seccomp-bpf', '-o', '/dev/null', process.execPath, '--version']);
}

/** Runs a command that has to succeed for a test to be possible. */
export function obstacleIn(command: string, args: string[]): Obstacle {
  const { error, status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (error !== undefined) return `${command} cannot be run (${error.message})`;
  return status === 0 ? null : `${command} ended with ${status} (${stderr.trim()})`;
}
