// The paths, links, variables and messages in the documents exist.
import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../src/config/server.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const documents = globSync(['*.md', 'docs/**/*.md', 'wordpress/tocsin/readme.txt'], { cwd: root });
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Folders that builds, tests and the service create: `/deploy/secrets/` in .gitignore. */
const generated = [...read('.gitignore').matchAll(/^\/?(.+)\/$/gm)].map(([, folder = '']) => folder);
const folders = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== '.git' && !generated.includes(entry.name))
  .map(({ name }) => name.replace('.', '\\.'));
const isGenerated = (path: string): boolean => generated.some((folder) => `${path}/`.startsWith(`${folder}/`));

/** Paths that begin with a folder of the repository, anywhere in a text, and the targets of relative links. */
function pathsIn(text: string): string[] {
  const inFolder = new RegExp(`(?<![\\w/.-])((?:${folders.join('|')})/[\\w./*{},-]*)`, 'g');
  const named = [...text.matchAll(inFolder)].map(([, path = '']) => path.replace(/[.,]+$/, ''));
  const linked = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(([, path = '']) => path);
  return [...named.filter((path) => !isGenerated(path)), ...linked];
}

/** Names of source files without a folder, between backticks: `queue.ts`. */
function fileNamesIn(text: string): string[] {
  const names = [...text.matchAll(/`([\w-]+\.(?:css|md|mjs|php|sh|tsx?|yaml))`/g)].map(([, name = '']) => name);
  return names.filter((name) => name !== 'wp-config.php');
}

/** The names of all variables that the configuration reads, with the `_FILE` variant of each secret. */
function variablesOfConfig(): Set<string> {
  const names = new Set<string>();
  const get = (_: object, name: string): undefined => void names.add(name);
  readConfig(new Proxy<Record<string, string | undefined>>({}, { get }));
  return names;
}

/** Constants of the WordPress companion and switches of the tests. */
function otherVariables(): Set<string> {
  const sources = globSync(['wordpress/tocsin/**/*.php', 'packages/*/{src,test}/**/*.ts'], { cwd: root }).map(read);
  const uses = sources.flatMap((source) => [...source.matchAll(/(?:defined\( '|process\.env\.)(TOCSIN_\w+)/g)]);
  return new Set(uses.map(([, name = '']) => name));
}

/** A variable of the operator's own NATS server, in its access list. */
const foreignVariable = 'TOCSIN_PASSWORD';

/** The anchors that GitHub generates for the headings of a page. */
function anchorsOf(page: string): string[] {
  const headings = read(page).matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

suite('The documents', () => {
  const fileNames = new Set(
    globSync('{*,{bench,deploy,docs,scripts}/**,{packages,wordpress}/*/**}', {
      cwd: root,
      exclude: (path) => ['node_modules', 'dist'].includes(basename(path)),
    }).map((path) => basename(path)),
  );
  const known = variablesOfConfig().union(otherVariables()).add(foreignVariable);

  for (const document of documents) {
    test(`${document} names only paths that exist`, () => {
      const text = read(document);
      const exists = (path: string): boolean =>
        existsSync(join(root, path)) ||
        existsSync(join(root, document, '..', path)) ||
        globSync(path, { cwd: root }).length > 0;
      const missing = [
        ...pathsIn(text).filter((path) => !exists(path)),
        ...fileNamesIn(text).filter((name) => !fileNames.has(name)),
      ];
      assert.deepEqual(missing, []);
    });

    test(`${document} names only variables that are read`, () => {
      const names = [...read(document).matchAll(/\b(?:TOCSIN|OTEL)_[A-Z0-9_]*[A-Z0-9]\b/g)].map(([name]) => name);
      assert.deepEqual(
        names.filter((name) => !known.has(name)),
        [],
      );
    });
  }

  test('links into a page name an existing heading', () => {
    const links = documents.flatMap((document) =>
      [...read(document).matchAll(/\]\(([^)#\s:]*)#([^)\s]+)\)/g)].map(([, path = '', anchor = '']) => ({
        document,
        page: path === '' ? document : join(document, '..', path),
        anchor,
      })),
    );
    assert.ok(links.length > 10);
    for (const { document, page, anchor } of links) {
      assert.ok(anchorsOf(page).includes(anchor), `${document} links to ${page}#${anchor}`);
    }
  });

  test('messages that the documents quote exist in the gateway', () => {
    const quoted = documents.flatMap((document) =>
      [...read(document).matchAll(/`((?:the|it|an?) [^`]+)`/g)].map(([, message = '']) =>
        message.replaceAll('\n', ' '),
      ),
    );
    assert.ok(quoted.length >= 5);
    const sources = globSync('packages/gateway/src/**/*.ts', { cwd: root }).map(read).join('\n');
    assert.deepEqual(
      quoted.filter((message) => !sources.includes(message)),
      [],
    );
  });

  test('ARCHITECTURE.md names every folder of the gateway', () => {
    const text = read('ARCHITECTURE.md');
    assert.ok(pathsIn(text).length > 20);
    for (const folder of globSync('packages/gateway/src/*/', { cwd: root })) {
      assert.ok(text.includes(`\`${folder}/\``) || text.includes(`\`${folder}`), `${folder} is not mentioned`);
    }
  });

  test('docs/operators.md describes every variable that the configuration reads', () => {
    const sources = globSync('packages/gateway/src/{channels,config}/**/*.ts', { cwd: root }).map(read).join();
    const quoted = [...sources.matchAll(/'(TOCSIN_[A-Z_]+)'/g)].map(([, name = '']) => name);
    const ofConfig = variablesOfConfig();
    const withoutFiles = [...ofConfig].filter((name) => !(name.endsWith('_FILE') && ofConfig.has(name.slice(0, -5))));
    const text = read('docs/operators.md');
    assert.ok(withoutFiles.length > 40);
    for (const name of [...withoutFiles, ...quoted]) {
      assert.ok(text.includes(`\`${name}\``), `${name} is not described`);
    }
  });
});
