// scripts/check-words.mjs as `npm run check` and people run it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../../scripts/check-words.mjs', import.meta.url));

function check(
  t: TestContext,
  files: Record<string, string>,
  path: string | null = 'src',
): { status: number | null; lines: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'check-words-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  const { status, stdout } = spawnSync(process.execPath, [script, ...(path === null ? [] : [path])], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, lines: stdout.split('\n').filter((line) => line.includes(' → ')) };
}

suite('The check of words', () => {
  test('names file, line, word and the better word', (t) => {
    const { status, lines } = check(t, {
      'src/a.md': 'Fine.\n\nNobody is here.\n',
      'src/deep/b.ts': '// Told twice.\n',
    });
    assert.equal(status, 1);
    assert.equal(lines.length, 2);
    assert.match(lines[0] ?? '', /^src\/a\.md:3: "nobody" → no client/);
    assert.match(lines[1] ?? '', /^src\/deep\/b\.ts:1: "told" → deliver/);
  });

  test('finds words inside identifiers and file names', (t) => {
    const { lines } = check(t, {
      'src/left-behind.ts': 'const takeUpLeftBehind = createBreath(GIVEN_UP, retry_told);\n',
    });
    assert.deepEqual(
      lines.map((line) => line.slice(0, line.indexOf(' →'))),
      [
        'src/left-behind.ts: file name: "left behind"',
        'src/left-behind.ts:1: "take up"',
        'src/left-behind.ts:1: "left behind"',
        'src/left-behind.ts:1: "breath"',
        'src/left-behind.ts:1: "given up"',
        'src/left-behind.ts:1: "told"',
      ],
    );
  });

  test('finds a phrase across a line break in a comment, and not across punctuation', (t) => {
    const { lines } = check(t, {
      'src/a.ts': '// It was cut\n// off by the proxy.\nf(cut, off);\n// No. More follow.\n',
    });
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /^src\/a\.ts:1: "cut off"/);
  });

  test('accepts terms of the trade, whole words that contain a forbidden one, and released names', (t) => {
    const { status, lines } = check(t, {
      'src/a.md': [
        'A string in a ring buffer or a key ring; no more than 5 dead letters; upper-case letters and digits.',
        'MAIL FROM, mailto:ann@example.com, sendmail, nodemailer, mail.example.com, wp_mail; POST /api/sign-in/mail.',
        'The server answers with 200. Email is sent; retelling and hushpuppies are other words. Column `give_up_at`.',
      ].join('\n'),
    });
    assert.deepEqual(lines, []);
    assert.equal(status, 0);
  });

  test('reports a phrase that is forbidden only at the end of a clause', (t) => {
    const { lines } = check(t, {
      'src/a.md': 'Once no more requests arrive.\nThe device is no more.\nIt is no more\n',
    });
    assert.deepEqual(
      lines.map((line) => line.slice(0, line.indexOf(' →'))),
      ['src/a.md:2: "no more"', 'src/a.md:3: "no more"'],
    );
  });

  test('reports answer as a noun, and accepts it as a verb', (t) => {
    const { lines } = check(t, { 'src/a.md': 'The answer has a body.\nTocsin answers at once.\nAnswer it.\n' });
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /^src\/a\.md:1: "the answer" → response/);
  });

  test('checks files of any type, and only the names of binary files', (t) => {
    const { lines } = check(t, {
      'src/Dockerfile': '# Nobody is here.\n',
      'src/told.png': '\0 nobody\n',
    });
    assert.deepEqual(
      lines.map((line) => line.slice(0, line.indexOf(' →'))),
      ['src/Dockerfile:1: "nobody"', 'src/told.png: file name: "told"'],
    );
  });

  test('checks the whole project if no path is given, except dependencies, build output and local data', (t) => {
    const text = 'Nobody is here.\n';
    const { status, lines } = check(
      t,
      {
        'src/a.md': text,
        'src/node_modules/a.md': text,
        'src/dist/a.md': text,
        'data/a.md': text,
        'deploy/secrets/a.txt': text,
      },
      null,
    );
    assert.equal(status, 1);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /^src\/a\.md:1/);
  });

  test('refuses a path that does not exist, so that a moved folder does not go unchecked', (t) => {
    assert.equal(check(t, { 'src/a.md': '' }, 'source').status, 2);
  });
});
