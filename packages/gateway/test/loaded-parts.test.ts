// What a running server has loaded. Code that is loaded costs memory and time at every start, so parts that an installation
// does not use must be imported dynamically, where they are first needed.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import packageJson from '../package.json' with { type: 'json' };

const recorder = fileURLToPath(new URL('./fixtures/record-loaded-files.mjs', import.meta.url));
const build = fileURLToPath(new URL('../dist/', import.meta.url));
const dependencies = Object.keys(packageJson.devDependencies);

/** Source files that are in files of the build that the server has loaded, in its main thread or in the others. */
class Loaded {
  readonly #files: string[];

  constructor(listing: string, where: 'main thread' | 'other threads') {
    const lines = readFileSync(listing, 'utf8').trim().split('\n');
    const chunks = lines
      .filter((line) => line.startsWith('0 ') === (where === 'main thread'))
      .map((line) => /\/packages\/gateway\/dist\/(\w+)\/([^/]+\.js)$/.exec(line))
      .filter((match) => match !== null);
    assert.ok(chunks.length > 0, `the ${where} loaded no build: ${lines.join(', ')}`);
    this.#files = chunks.flatMap(([, name = '', chunk = '']) => contentOf(name)[chunk] ?? []);
  }

  /** Those of the dependencies in package.json, without what they depend on. */
  get dependencies(): string[] {
    return dependencies
      .filter((name) => this.#files.some((file) => file.includes(`node_modules/${name}/`)))
      .filter((name) => !name.startsWith('@tocsin/'))
      .sort();
  }

  /** Files of ours whose path begins with one of these. */
  sources(...paths: string[]): string[] {
    const begins = paths.map((path) => `packages/gateway/src/${path}`);
    return this.#files.filter((file) => begins.some((begin) => file.startsWith(begin))).sort();
  }
}

/** File → the sources in it. */
function contentOf(name: string): Record<string, string[]> {
  return JSON.parse(readFileSync(join(build, name, 'chunks.json'), 'utf8')) as Record<string, string[]>;
}

async function serve(
  t: { after(end: () => Promise<void>): void },
  environment: Record<string, string> = {},
): Promise<{ gateway: GatewayProcess; loaded: (where?: 'other threads') => Loaded }> {
  const installation = await Installation.create(environment);
  t.after(() => installation.remove());
  const listing = join(installation.dataDir, 'loaded');
  const gateway = await installation.serve({
    NODE_OPTIONS: `--import=${recorder}`,
    TOCSIN_TEST_LOADED: listing,
  });
  return { gateway, loaded: (where) => new Loaded(listing, where ?? 'main thread') };
}

const embeddedBroker = ['aedes', 'mqtt-packet'];
const always = ['cockatiel', 'ipaddr.js', 'kysely', 'pino', 'prom-client', 'rate-limiter-flexible'];

suite('A server', () => {
  test('with default settings loads no part that it does not use', async (t) => {
    const { gateway, loaded } = await serve(t);
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      assert.equal((await fetch(new URL(path, gateway.line.console))).status, 200, path);
    }
    assert.equal((await notify(gateway, { title: 'Hello' })).status, 200);

    assert.deepEqual(loaded().dependencies, [...embeddedBroker, ...always].sort());
    assert.deepEqual(
      loaded().sources(
        'channels/email/sender',
        'channels/mqtt/client-connection',
        'channels/mqtt/platform',
        'channels/mqtt/embedded/web-socket',
        'channels/push/apns',
        'channels/push/fcm',
        'channels/push/sender',
        'channels/push/web-push',
        'composition/console-app',
        'console/app',
        'console/inbox',
        'console/routes',
        'console/settings',
        'console/sign-in',
        'console/web-app',
        'observability/traces',
        'egress/',
        'process/tls',
        'store/copy/backup',
        'store/copy/restore',
        'store/copy/transfer.ts',
        'store/postgres',
        'store/search/thread.ts',
      ),
      [],
    );
    assert.deepEqual(loaded('other threads').dependencies, []);
    const commands = loaded().sources('cli/');
    assert.deepEqual(
      commands.map((file) => file.split('/').at(-1)),
      ['command.ts', 'device-output.ts', 'help.ts', 'main.ts', 'serve.ts'],
    );
  });

  test('loads of Node only what it names: an import statement would read every export of a module', () => {
    const { build: name } = JSON.parse(readFileSync(join(build, 'manifest.json'), 'utf8')) as { build: string };
    const files = globSync('*.js', { cwd: join(build, name) });
    assert.ok(files.includes('main.js'));
    for (const file of files) {
      const imported = readFileSync(join(build, name, file), 'utf8').matchAll(/^import .+ from "([^."][^"]*)";$/gm);
      assert.deepEqual(
        [...imported].map(([, specifier]) => specifier),
        [],
        file,
      );
    }
  });

  test('loads the console, but no OpenID client, when a browser opens it', async (t) => {
    const { gateway, loaded } = await serve(t);
    assert.equal((await fetch(String(gateway.line.console))).status, 200);
    const console = ['@fastify/cookie', 'ajv', 'fastify'];
    assert.deepEqual(loaded().dependencies, [...console, ...embeddedBroker, ...always].sort());
  });

  test('with a broker of the operator loads its client and not the embedded broker', async (t) => {
    const { loaded } = await serve(t, { TOCSIN_MQTT_URL: 'mqtt://127.0.0.1:9' });
    assert.deepEqual(loaded().dependencies, ['mqtt', 'mqtt-packet', 'ws', ...always].sort());
    assert.deepEqual(loaded().sources('channels/mqtt/embedded'), []);
  });
});
