// Runs the PHPUnit tests of the companion inside a real WordPress.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { canRun, obstacleIn } from '@tocsin/test-support/requires.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';
import { WordPressSite } from './support/wordpress-site.ts';

test('the PHPUnit tests of the companion pass inside WordPress', async (t) => {
  if (!canRun(t, wordpressObstacle() ?? obstacleIn('phpunit', ['--version']))) return;
  const site = await WordPressSite.create();
  t.after(() => site.remove());
  const folder = fileURLToPath(new URL('./php', import.meta.url));
  // PHP has no memory limit on the command line; a runaway test must not exhaust the machine.
  const before = ['-d', 'memory_limit=512M', '-d', `auto_prepend_file=${folder}/bootstrap.php`];
  const child = spawn('php', [...before, programOnPath('phpunit'), `--configuration=${folder}/phpunit.xml.dist`], {
    env: site.environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, complaints, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  assert.equal(status, 0, `${output}${complaints}\nThe site's log:\n${site.debugLog()}`);
  assert.match(output, /^OK \(\d+ tests/m, output);
});

function programOnPath(name: string): string {
  return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
}
