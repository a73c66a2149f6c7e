// Imports go one way. ARCHITECTURE.md draws this table; this test enforces it.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';

/**
 * Layer → the layers it may import from, besides itself. A layer is a folder of src, or a file at its top; a folder
 * inside a layer with its own line is a layer too.
 */
const allowed: Record<string, string[]> = {
  core: [],
  senders: ['core'],
  'usecases/ports': ['core'],
  delivery: ['core', 'usecases/ports'],
  usecases: ['core', 'usecases/ports', 'delivery', 'senders'],
  'store/schema': ['core', 'usecases/ports'],
  'store/files': ['core', 'store/schema'],
  'store/vault': ['core', 'usecases/ports', 'store/schema', 'store/files'],
  'store/search': ['core', 'usecases/ports', 'store/schema', 'store/vault'],
  'store/sqlite': ['core', 'usecases/ports', 'store/schema', 'store/files', 'store/vault'],
  'store/postgres': ['core', 'usecases/ports', 'store/schema', 'store/vault'],
  'store/repositories': ['core', 'usecases/ports', 'store/schema', 'store/vault', 'store/search'],
  'store/copy': [
    'core',
    'usecases/ports',
    'store/schema',
    'store/files',
    'store/vault',
    'store/sqlite',
    'store/postgres',
  ],
  'store/upkeep': [
    'core',
    'usecases/ports',
    'store/schema',
    'store/files',
    'store/vault',
    'store/repositories',
    'store/copy',
  ],
  store: [
    'core',
    'usecases/ports',
    'store/schema',
    'store/files',
    'store/vault',
    'store/search',
    'store/sqlite',
    'store/postgres',
    'store/repositories',
    'store/copy',
    'store/upkeep',
  ],
  parsing: ['core', 'senders'],
  egress: ['core'],
  channels: ['core', 'usecases/ports', 'delivery', 'egress'],
  config: ['core', 'channels'],
  http: ['core', 'senders', 'usecases/ports', 'usecases'],
  console: ['core', 'usecases/ports', 'usecases', 'delivery', 'http', 'config'],
  'process/tls': ['core'],
  'process/workers': ['core', 'channels'],
  process: ['core'],
  'observability/traces': ['core', 'delivery', 'http'],
  observability: [
    'core',
    'usecases/ports',
    'delivery',
    'config',
    'http',
    'channels',
    'store/schema',
    'process/workers',
    'observability/traces',
  ],
  composition: [
    'core',
    'usecases/ports',
    'usecases',
    'delivery',
    'config',
    'store',
    'store/files',
    'store/sqlite',
    'parsing',
    'channels',
    'http',
    'console',
    'process',
    'process/tls',
    'observability',
  ],
  'main.ts': [
    'core',
    'usecases',
    'config',
    'channels',
    'console',
    'process',
    'process/workers',
    'observability',
    'composition',
  ],
  cli: [
    'core',
    'senders',
    'usecases/ports',
    'usecases',
    'delivery',
    'config',
    'store',
    'store/files',
    'store/copy',
    'channels',
    'process/tls',
    'process/workers',
    'observability',
    'main.ts',
  ],
};

const packages = fileURLToPath(new URL('../../', import.meta.url));
const gatewaySource = resolve(packages, 'gateway/src');

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const specifiers = text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'|new URL\('([^']+\.ts)'/g);
  return [...specifiers].map(([, imported, url]) => (imported ?? url) as string);
}

function layerOf(file: string): string {
  const [top, inner] = relative(gatewaySource, file).split('/') as [string, string?];
  return `${top}/${inner}` in allowed ? `${top}/${inner}` : top;
}
const sources = (folder: string): string[] =>
  globSync(`${folder}/**/*.ts`).filter((file) => !file.endsWith('.test.ts'));

const socketModules = /^node:(net|tls|http|https|http2|dgram)$|^(pg|ws|mqtt|nodemailer)$/;
const socketGlobals = /(?<![.\w]|function )(?:globalThis\.)?(fetch|WebSocket|EventSource)\(/g;

/** Modules and globals by which a source opens sockets. Types and address checks open none. */
function socketsIn(source: string): string[] {
  const text = source.replaceAll(/import type [^;]+;/g, '').replaceAll(/import \{ isIP \} from 'node:net';/g, '');
  const modules = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, specifier]) => specifier as string);
  const globals = [...text.matchAll(socketGlobals)].map(([, name]) => name as string);
  return [...modules.filter((specifier) => socketModules.test(specifier)), ...globals];
}

suite('The layers', () => {
  for (const file of sources(gatewaySource)) {
    test(`hold in ${relative(packages, file)}`, () => {
      const layer = layerOf(file);
      const below = allowed[layer];
      assert.ok(below, `${layer} is not in the table of layers`);
      for (const specifier of importsOf(file)) {
        if (!specifier.startsWith('.') || specifier.endsWith('package.json')) continue;
        const target = layerOf(resolve(dirname(file), specifier));
        assert.ok(target === layer || below.includes(target), `${layer} must not import ${specifier}`);
      }
    });
  }

  test('have no cycle', () => {
    const visit = (layer: string, above: string[]): void => {
      assert.ok(!above.includes(layer), [...above, layer].join(' → '));
      for (const below of allowed[layer] ?? []) visit(below, [...above, layer]);
    };
    for (const layer of Object.keys(allowed)) visit(layer, []);
  });

  test('have no cycle between files, imports of types included', () => {
    const finished = new Set<string>();
    const visit = (file: string, above: readonly string[]): void => {
      if (finished.has(file)) return;
      const cycle = [...above.slice(above.indexOf(file)), file].map((each) => relative(packages, each));
      assert.ok(!above.includes(file), cycle.join(' → '));
      for (const specifier of importsOf(file)) {
        if (/^\..*\.tsx?$/.test(specifier)) visit(resolve(dirname(file), specifier), [...above, file]);
      }
      finished.add(file);
    };
    for (const folder of ['contract', 'gateway', 'inbox', 'test-support']) {
      for (const file of globSync(`${resolve(packages, folder, 'src')}/**/*.{ts,tsx}`)) visit(file, []);
    }
  });

  test('use every permission of the table', () => {
    const used = new Map<string, Set<string>>();
    for (const file of sources(gatewaySource)) {
      const targets = importsOf(file).filter((specifier) => specifier.startsWith('.'));
      const layers = targets.map((specifier) => layerOf(resolve(dirname(file), specifier)));
      used.set(layerOf(file), new Set([...(used.get(layerOf(file)) ?? []), ...layers]));
    }
    for (const [layer, below] of Object.entries(allowed)) {
      const unused = below.filter((each) => !used.get(layer)?.has(each));
      assert.deepEqual(unused, [], `${layer} does not import these`);
    }
  });

  test('contract imports no other package of ours, and core has no side effects', () => {
    const contract = resolve(packages, 'contract/src');
    for (const file of sources(contract)) {
      for (const specifier of importsOf(file)) {
        const isInside =
          specifier.startsWith('.') && !relative(contract, resolve(dirname(file), specifier)).startsWith('..');
        assert.ok(isInside || specifier === 'node:crypto', `${file}: ${specifier}`);
      }
    }
    const pure = /^(\.|@tocsin\/contract$|ipaddr\.js$|node:(buffer|crypto|net|util|zlib)$)/;
    for (const file of sources(resolve(gatewaySource, 'core'))) {
      for (const specifier of importsOf(file)) assert.match(specifier, pure, `${file}: ${specifier}`);
    }
  });

  test('only listeners, the guarded egress, and clients of addresses that the operator configured open sockets', () => {
    const listeners = [
      'http/connection-guard.ts',
      'http/server.ts',
      'console/server.ts',
      'process/tls/certificate.ts',
      'process/tls/index.ts',
      'process/listen.ts',
      'channels/mqtt/embedded/listeners.ts',
      'channels/mqtt/embedded/web-socket.ts',
    ];
    const guarded = ['egress/addresses.ts', 'egress/certificate-authorities.ts', 'egress/dial.ts', 'egress/post.ts'];
    const operators = [
      'process/tls/own-server.ts',
      'channels/email/sender.ts',
      'channels/email/smtp-pool.ts',
      'channels/mqtt/client-connection.ts',
      'channels/push/http2-client.ts',
      ...['broker-claim', 'change-listener', 'connections', 'errors', 'migrate', 'open'].map(
        (name) => `store/postgres/${name}.ts`,
      ),
      'store/copy/postgres-rows.ts',
      'observability/traces/exporter.ts',
    ];
    const allowedFiles = new Set([...listeners, ...guarded, ...operators]);
    for (const file of sources(gatewaySource)) {
      if (allowedFiles.has(relative(gatewaySource, file))) continue;
      assert.deepEqual(socketsIn(readFileSync(file, 'utf8')), [], relative(packages, file));
    }
  });

  test('recognise every way to open a socket', () => {
    const ways = {
      "import { connect } from 'node:net';": ['node:net'],
      "const { connectAsync } = await import('mqtt');": ['mqtt'],
      'await fetch(url);': ['fetch'],
      'globalThis.fetch(url)': ['fetch'],
      'new WebSocket(url)': ['WebSocket'],
      "import type { Socket } from 'node:net';": [],
      "import { isIP } from 'node:net';": [],
      'cache.fetch(key)': [],
      'prefetch(key)': [],
    };
    for (const [text, found] of Object.entries(ways)) assert.deepEqual(socketsIn(text), found, text);
  });
});
