// scripts/check-channels.mjs as `npm run check` runs it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../../scripts/check-channels.mjs', import.meta.url));
const source = 'packages/gateway/src';
const twoChannels = {
  [`${source}/channels/email/index.ts`]: "export const emailChannel = { name: 'email' };",
  [`${source}/channels/ms-teams/index.ts`]: "export const teamsChannel = { name: 'ms-teams' };",
};

function check(t: TestContext, files: Record<string, string>): { status: number | null; stderr: string } {
  const folder = mkdtempSync(join(tmpdir(), 'check-channels-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries({ ...twoChannels, ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return spawnSync(process.execPath, [script, folder], { encoding: 'utf8' });
}

suite('The check of channels', () => {
  test('accepts a file that names one channel', (t) => {
    const { status, stderr } = check(t, { [`${source}/a.ts`]: "export const a = ['email', 'email'];" });
    assert.deepEqual([status, stderr], [0, '']);
  });

  test('reports a file that names two channels, with the line of each', (t) => {
    const { status, stderr } = check(t, {
      [`${source}/a.ts`]: "export const a = 'email';\nexport const b = 'ms-teams';",
    });
    assert.equal(status, 1);
    assert.match(stderr, /packages\/gateway\/src\/a\.ts: email \(line 1\), ms-teams \(line 2\)/);
  });

  test('reports a file that imports from the folders of two channels', (t) => {
    const imports = "import '../channels/email/index.ts';\nimport '../channels/ms-teams/index.ts';";
    const { status, stderr } = check(t, { [`${source}/composition/a.ts`]: imports });
    assert.equal(status, 1);
    assert.match(stderr, /composition\/a\.ts: email \(line 1\), ms-teams \(line 2\)/);
  });

  test('reports a channel whose name is not that of its folder', (t) => {
    const { status, stderr } = check(t, {
      [`${source}/channels/pager/index.ts`]: "export const a = { name: 'beeper' };",
    });
    assert.equal(status, 1);
    assert.match(stderr, /channels\/pager\/index\.ts: expected the name 'pager', that of the folder/);
  });
});
