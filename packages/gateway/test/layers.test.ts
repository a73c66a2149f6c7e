// Imports run one way. ARCHITECTURE.md draws this table; here it is enforced.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Layer → the layers it may import from, besides itself. A layer is a folder of src, or a file at its top. */
const allowed: Record<string, string[]> = {
  core: [],
  gateway: ['core'],
  store: ['core', 'gateway'],
  egress: ['core'],
  channels: ['core', 'gateway', 'egress', 'channel-config.ts'],
  http: ['core', 'gateway'],
  console: ['core', 'gateway', 'http', 'console-config.ts'],
  'channel-config.ts': [],
  'trace-config.ts': ['channel-config.ts'],
  'console-config.ts': ['channel-config.ts'],
  'config.ts': ['core', 'channel-config.ts', 'console-config.ts', 'trace-config.ts'],
  'log-repeats.ts': [],
  'log-sink.ts': [],
  'log-summary.ts': [],
  workers: ['core', 'channels'],
  'log.ts': [
    'config.ts',
    'log-repeats.ts',
    'log-sink.ts',
    'log-summary.ts',
    'core',
    'gateway',
    'http',
    'channels',
    'workers',
  ],
  traces: ['core', 'gateway', 'http'],
  'tally.ts': [],
  'metrics.ts': ['core', 'gateway', 'http', 'store', 'channels', 'traces', 'tally.ts'],
  'observability.ts': ['gateway', 'http', 'channels', 'trace-config.ts', 'traces', 'log.ts', 'metrics.ts'],
  'legacy-warnings.ts': ['core', 'config.ts'],
  tls: ['core'],
  'listen.ts': ['core', 'tls'],
  'stop.ts': ['gateway'],
  composition: [
    'egress',
    'listen.ts',
    'stop.ts',
    'tls',
    'core',
    'gateway',
    'store',
    'channels',
    'http',
    'console',
    'channel-config.ts',
    'config.ts',
    'legacy-warnings.ts',
    'log.ts',
    'metrics.ts',
    'observability.ts',
  ],
  'main.ts': [
    'core',
    'gateway',
    'channels',
    'console',
    'workers',
    'composition',
    'config.ts',
    'listen.ts',
    'log.ts',
    'metrics.ts',
    'stop.ts',
  ],
  cli: [
    'core',
    'gateway',
    'store',
    'channels',
    'egress',
    'tls',
    'channel-config.ts',
    'config.ts',
    'legacy-warnings.ts',
    'log.ts',
    'main.ts',
    'workers',
  ],
};

const packages = fileURLToPath(new URL('../../', import.meta.url));
const gatewaySource = resolve(packages, 'gateway/src');

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const specifiers = text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'|new URL\('([^']+\.ts)'/g);
  return [...specifiers].map(([, imported, url]) => (imported ?? url) as string);
}

const layerOf = (file: string): string => relative(gatewaySource, file).split('/')[0] as string;
const sources = (folder: string): string[] =>
  globSync(`${folder}/**/*.ts`).filter((file) => !file.endsWith('.test.ts'));

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

  test('contract imports nothing of ours, and core touches nothing outside', () => {
    for (const file of sources(resolve(packages, 'contract/src'))) {
      for (const specifier of importsOf(file)) assert.match(specifier, /^(\.\/|node:crypto$)/, `${file}: ${specifier}`);
    }
    const pure = /^(\.|@tocsin\/contract$|ipaddr\.js$|node:(buffer|crypto|net|util|zlib)$)/;
    for (const file of sources(resolve(gatewaySource, 'core'))) {
      for (const specifier of importsOf(file)) assert.match(specifier, pure, `${file}: ${specifier}`);
    }
  });

  test('only listeners, the guarded way out, and clients of addresses that the operator chose open sockets', () => {
    const socketModules = /^node:(net|tls|http|https|http2|dgram)$|^(pg|ws|mqtt|nodemailer)$/;
    const listeners = [
      'http/connection-guard.ts',
      'http/server.ts',
      'tls/certificate.ts',
      'tls/index.ts',
      'listen.ts',
      'channels/mqtt/embedded/listeners.ts',
    ];
    const guarded = ['egress/addresses.ts', 'egress/certificate-authorities.ts', 'egress/dial.ts', 'egress/post.ts'];
    const operators = [
      'tls/own-server.ts',
      'channels/email/index.ts',
      'channels/email/lanes.ts',
      'channels/mqtt/client-connection.ts',
      'channels/push/http2-client.ts',
      ...['broker-claim', 'change-listener', 'connections', 'errors', 'migrate', 'open', 'rows'].map(
        (name) => `store/postgres/${name}.ts`,
      ),
      'traces/exporter.ts',
    ];
    const allowedFiles = new Set([...listeners, ...guarded, ...operators]);
    for (const file of sources(gatewaySource)) {
      if (allowedFiles.has(relative(gatewaySource, file))) continue;
      // Types and address checks open nothing.
      const text = readFileSync(file, 'utf8')
        .replaceAll(/import type [^;]+;/g, '')
        .replaceAll(/import \{ isIP \} from 'node:net';/g, '');
      for (const [, specifier = ''] of text.matchAll(/from '([^']+)'/g)) {
        assert.doesNotMatch(specifier, socketModules, `${relative(packages, file)} imports ${specifier}`);
      }
    }
  });
});
