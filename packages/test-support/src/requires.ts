// Some suites need programs other than Node. If one is missing they are skipped with a conspicuous line;
// in CI they fail, so that nothing stays untested unnoticed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { TestContext } from 'node:test';

/** The reason why a test cannot run; null if it can. */
export type Obstacle = string | null;

/** Returns whether the test can run. Otherwise skips it or, with CI=true, fails it. */
export function canRun(t: TestContext, obstacle: Obstacle): boolean {
  if (obstacle === null) return true;
  assert.notEqual(process.env.CI, 'true', `This machine cannot run the test: ${obstacle}`);
  t.diagnostic(`SKIPPED, NOT PROVED HERE: "${t.name}": ${obstacle}`);
  t.skip(obstacle);
  return false;
}

/** strace has to be installed, and allowed to trace a child process. */
export function straceObstacle(): Obstacle {
  return obstacleIn('strace', ['-f', '--seccomp-bpf', '-o', '/dev/null', process.execPath, '--version']);
}

/** Runs a command that has to succeed for a test to be possible. */
export function obstacleIn(command: string, args: string[]): Obstacle {
  const { error, status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (error !== undefined) return `${command} cannot be run (${error.message})`;
  return status === 0 ? null : `${command} ended with ${status} (${stderr.trim()})`;
}
