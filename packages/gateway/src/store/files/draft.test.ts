import assert from 'node:assert/strict';
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
