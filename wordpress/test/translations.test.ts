import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { canRun } from '@tocsin/test-support/requires.ts';
import { translationFile, writeTranslations } from '../build/translations.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';

test('tocsin.pot is up to date', (t) => {
  if (!canRun(t, wordpressObstacle())) return;
  const folder = mkdtempSync(join(tmpdir(), 'tocsin-texts-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const fresh = join(folder, 'tocsin.pot');
  writeTranslations(fresh);
  const hint = 'Texts have changed: run node wordpress/build/translations.ts';
  assert.equal(readFileSync(translationFile, 'utf8'), readFileSync(fresh, 'utf8'), hint);
});
