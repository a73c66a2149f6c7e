// What the documents say about the tree is true.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const documents = [...globSync('*.md', { cwd: root }), ...globSync('docs/**/*.md', { cwd: root })];

/** `packages/…`, `docs/…` and the like between backticks, and the targets of relative links. */
function pathsIn(text: string): string[] {
  const quoted = [...text.matchAll(/`((?:packages|docs|scripts|bench|\.ci)\/[^`\s]*)`/g)].map(([, path = '']) => path);
  const linked = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(([, path = '']) => path);
  return [...quoted, ...linked];
}

/** As GitHub makes them of headings. */
function anchorsOf(page: string): string[] {
  const headings = readFileSync(join(root, page), 'utf8').matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

suite('The documents', () => {
  for (const document of documents) {
    test(`${document} names only paths that exist`, () => {
      const text = readFileSync(join(root, document), 'utf8');
      const folder = join(root, document, '..');
      for (const path of pathsIn(text)) {
        const isThere =
          existsSync(join(root, path)) || existsSync(join(folder, path)) || globSync(path, { cwd: root }).length > 0;
        assert.ok(isThere, `${path} does not exist`);
      }
    });
  }

  test('links into a page name a heading that is there', () => {
    const links = documents.flatMap((document) =>
      [...readFileSync(join(root, document), 'utf8').matchAll(/\]\(([^)#\s:]*)#([^)\s]+)\)/g)].map(
        ([, path = '', anchor = '']) => ({
          document,
          page: path === '' ? document : join(document, '..', path),
          anchor,
        }),
      ),
    );
    assert.ok(links.length > 10);
    for (const { document, page, anchor } of links) {
      assert.ok(anchorsOf(page).includes(anchor), `${document} links to ${page}#${anchor}`);
    }
  });

  test('ARCHITECTURE.md names every folder of the gateway, and so do its readers find the room for a change', () => {
    const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
    assert.ok(pathsIn(text).length > 20);
    for (const folder of globSync('packages/gateway/src/*/', { cwd: root })) {
      assert.ok(text.includes(`\`${folder}/\``) || text.includes(`\`${folder}`), `${folder} is not mentioned`);
    }
  });

  test('docs/operators.md describes every variable that the configuration reads', () => {
    const files = globSync('packages/gateway/src/config/*.ts', { cwd: root });
    const config = files.map((file) => readFileSync(join(root, file), 'utf8')).join();
    const variables = new Set([...config.matchAll(/'(TOCSIN_[A-Z_]+)'/g)].map(([, name = '']) => name));
    const text = readFileSync(join(root, 'docs/operators.md'), 'utf8');
    assert.ok(variables.size > 10);
    for (const name of variables) assert.ok(text.includes(`\`${name}\``), `${name} is not described`);
  });
});
