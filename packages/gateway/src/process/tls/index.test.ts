import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { createTestAuthority } from '@tocsin/test-support/tls-ca.ts';
import { openTls } from './index.ts';

/** Two pairs, the first of them in use, and a clock that the test moves. */
async function prepare(t: TestContext) {
  const authority = createTestAuthority();
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
  t.after(async () => {
    authority.remove();
    await rm(folder, { recursive: true });
  });
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  const [first, second] = [authority.issue('DNS:a.test'), authority.issue('DNS:b.test')];
  await writeFile(files.certFile, first.cert);
  await writeFile(files.keyFile, first.key);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const loaded: string[] = [];
  const kept: string[] = [];
  const tls = await openTls(files, {
    onLoaded: ({ names }) => loaded.push(names),
    onKept: (problem) => kept.push(problem),
  });
  t.after(() => tls.close());
  /** Triggers a poll, which reads both files; two more reads of each finish after it. */
  const poll = async (): Promise<void> => {
    t.mock.timers.tick(2000);
    for (const file of [files.certFile, files.keyFile, files.certFile, files.keyFile]) await readFile(file);
  };
  return { files, second, loaded, kept, poll };
}

test('Certificate and key that are replaced in two steps, with a poll in between, are loaded without a warning', async (t) => {
  const { files, second, loaded, kept, poll } = await prepare(t);
  await writeFile(files.certFile, second.cert);
  await poll();
  await writeFile(files.keyFile, second.key);
  const pollAgain = async (): Promise<number> => {
    await poll();
    return loaded.length;
  };
  await eventually('the new pair is loaded', 5000, pollAgain, (count) => count === 2);
  assert.deepEqual(loaded, ['DNS:a.test', 'DNS:b.test']);
  assert.deepEqual(kept, []);
});

test('A certificate and key that do not match are reported once', async (t) => {
  const { files, second, loaded, kept, poll } = await prepare(t);
  await writeFile(files.certFile, second.cert);
  for (let count = 0; count < 10; count += 1) await poll();
  assert.equal(kept.length, 1);
  assert.deepEqual(loaded, ['DNS:a.test']);
});
