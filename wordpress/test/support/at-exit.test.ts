import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const program = `
  const [module, folder] = process.argv.slice(1);
  const { atExit } = await import(module);
  const { rmSync } = await import('node:fs');
  atExit(() => rmSync(folder, { recursive: true }));
  atExit(() => { throw new Error('was cancelled'); })();
  console.log('ready');
  setInterval(() => undefined, 1000);
`;

for (const [signal, status] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`runs clean-up functions on ${signal}, except cancelled ones`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'wordpress-at-exit-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const module = new URL('./at-exit.ts', import.meta.url).href;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, module, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    child.kill(signal);
    assert.deepEqual(await once(child, 'exit'), [status, null]);
    assert.ok(!existsSync(folder));
  });
}
