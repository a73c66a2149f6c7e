import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Draft } from './draft.ts';

function fileFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'tocsin-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'draft');
}

test('A draft that is being written cannot be used by another process', (t) => {
  const file = fileFor(t);
  const draft = Draft.create(file);
  draft.db.exec('CREATE TABLE some (thing text)');
  assert.throws(() => Draft.create(file), /Another process is writing/);
  draft.db.exec("INSERT INTO some VALUES ('more')");
  draft.finish();
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('The draft of an interrupted process is replaced', (t) => {
  const file = fileFor(t);
  writeFileSync(file, 'SQLite format 3\0 and half of something');
  const draft = Draft.create(file);
  draft.db.exec('CREATE TABLE some (thing text)');
  draft.discard();
  assert.ok(!existsSync(file));
});

test('A file that Tocsin did not write is kept', (t) => {
  const file = fileFor(t);
  writeFileSync(file, 'precious');
  assert.throws(() => Draft.create(file), /is in the way and was not written by Tocsin/);
  assert.equal(readFileSync(file, 'utf8'), 'precious');
  rmSync(file);
  mkdirSync(file);
  assert.throws(() => Draft.create(file), /is in the way and was not written by Tocsin/);
});

test('Of processes that begin the same draft at once, at most one writes it and the others are refused', async (t) => {
  const file = fileFor(t);
  const module = JSON.stringify(new URL('./draft.ts', import.meta.url).href);
  const program = `const { Draft } = await import(${module});
    process.on('message', () => {
      try {
        globalThis.draft = Draft.create(${JSON.stringify(file)});
        globalThis.draft.db.exec('CREATE TABLE some (thing text)');
        process.send('created');
      } catch (error) {
        process.send(error.message);
      }
    });
    process.send('ready');`;
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  );
  t.after(() => children.map((child) => child.kill('SIGKILL')));
  await Promise.all(children.map((child) => once(child, 'message')));
  const answers = children.map(async (child) => String((await once(child, 'message'))[0]));
  for (const child of children) child.send('begin');
  const said = await Promise.all(answers);
  assert.ok(said.filter((answer) => answer === 'created').length <= 1, said.join('; '));
  for (const answer of said) assert.match(answer, /^created$|Another process is writing|cannot be written/);
  assert.ok(existsSync(file) || !said.includes('created'));
});
