// The build in packages/gateway/dist: when it is made, what it contains, and that the npm package runs from it alone.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type Clone, copyProject } from '@tocsin/test-support/clone.ts';
import { signInAtFirstRun } from '@tocsin/test-support/console-client.ts';
import { search } from '@tocsin/test-support/console-streams.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { scrape } from '@tocsin/test-support/scrape.ts';
import { replaced, workersOf } from '@tocsin/test-support/worker-processes.ts';
import packageJson from '../package.json' with { type: 'json' };

const run = promisify(execFile);
const nextVersion = `${packageJson.version}-next`;

suite('The build', () => {
  let clone: Clone;
  /** An empty home and an empty temporary folder. */
  let home: string;
  let temporary: string;

  before(() => {
    clone = copyProject();
    [home, temporary] = [join(clone.folder, 'home'), join(clone.folder, 'temporary')];
    for (const folder of [home, temporary]) mkdirSync(folder);
  });
  after(() => clone.remove());

  const file = (path: string): string => join(clone.folder, path);
  const dist = (): string => file('packages/gateway/dist');
  const currentBuild = (): string =>
    (JSON.parse(readFileSync(join(dist(), 'manifest.json'), 'utf8')) as { build: string }).build;
  const setUp = () =>
    run(process.execPath, [file('scripts/setup.mjs')], {
      env: { PATH: process.env.PATH, HOME: home, TMPDIR: temporary },
    });
  const version = async (): Promise<string> =>
    (await run(process.execPath, [file('packages/gateway/bin/tocsin.js'), '--version'])).stdout.trim();
  const setVersion = (next: string): void => {
    const path = file('packages/gateway/package.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace(/"version": "[^"]*"/, `"version": "${next}"`));
  };

  test('is required: the launcher explains how to make it', async () => {
    await assert.rejects(version(), ({ code, stderr }: { code: number; stderr: string }) => {
      assert.equal(code, 1);
      assert.match(stderr, /^Tocsin has not been built: .*'npm run build'.*\n$/);
      return true;
    });
  });

  test('is made once by two concurrent setups, with no files in other folders', async () => {
    const results = await Promise.all([setUp(), setUp()]);
    for (const { stderr } of results) assert.equal(stderr, 'setup: building the gateway and the inbox app …\n');
    assert.deepEqual(readdirSync(dist()).sort(), [currentBuild(), 'manifest.json'].sort());
    assert.deepEqual([...readdirSync(home), ...readdirSync(temporary)], []);
    assert.equal(await version(), packageJson.version);
  });

  test('is named by its contents: file times do not matter, any input does', async () => {
    const { nameOfBuild } = (await import(pathToFileURL(file('scripts/dist.mjs')).href)) as { nameOfBuild(): string };
    const name = nameOfBuild();
    assert.equal(name, currentBuild());
    const inputs = [
      'package-lock.json',
      'scripts/build.mjs',
      'packages/contract/src/fields.ts',
      'packages/gateway/src/cli/main.ts',
      'packages/gateway/package.json',
      'packages/inbox/src/service-worker/index.ts',
      'packages/inbox/public/icon.svg',
    ];
    for (const path of inputs.map(file)) {
      const [content, { atime, mtime }] = [readFileSync(path), statSync(path)];
      const changed = Buffer.from(content);
      changed.writeUInt8(content.readUInt8(0) ^ 1);
      writeFileSync(path, changed);
      // The same size and the same time, as if unpacked from an archive.
      utimesSync(path, atime, mtime);
      assert.notEqual(nameOfBuild(), name, path);
      writeFileSync(path, content);
      assert.equal(nameOfBuild(), name, path);
    }
    const added = file('packages/gateway/src/core/added.ts');
    writeFileSync(added, '');
    assert.notEqual(nameOfBuild(), name);
    rmSync(added);
    const ofTest = file('packages/gateway/src/core/added.test.ts');
    writeFileSync(ofTest, '');
    assert.equal(nameOfBuild(), name, 'tests are not inputs');
    rmSync(ofTest);
    assert.equal((await setUp()).stderr, '', 'the build is current');
  });

  test('includes the licenses of everything that it contains', () => {
    const licenses = readFileSync(join(dist(), currentBuild(), 'licenses.txt'), 'utf8');
    for (const name of ['Tocsin authors', 'fastify', 'mqtt', 'pino', 'preact']) {
      assert.match(licenses, new RegExp(`^.*${name}\\b.*(\\n.*)+Permission is hereby granted`, 'm'), name);
    }
  });

  test('of a running server stays usable after the next build', async (t) => {
    const gateway = await serve(t, file('packages/gateway'), { TOCSIN_WORKERS: '2' });
    const [before, oldBuild] = [await version(), currentBuild()];
    setVersion(nextVersion);
    await setUp();
    assert.notEqual(currentBuild(), oldBuild);
    assert.deepEqual([before, await version()], [packageJson.version, nextVersion]);

    // Each of these loads code that the server had not needed before.
    assert.equal((await notify(gateway, { title: 'after the build' })).body.stored, true);
    const client = await signInAtFirstRun(gateway);
    assert.equal((await search(client, { q: 'build' })).matches.length, 1);
    assert.ok((await scrape(gateway)).samples.length > 0);
    const pid = workersOf(gateway).get(1) as number;
    process.kill(pid, 'SIGKILL');
    const next = (await replaced(gateway, 1, pid, 20_000)) as number;
    assert.ok(
      readFileSync(`/proc/${next}/cmdline`, 'utf8').includes(`/dist/${oldBuild}/`),
      'the worker runs the build of its server',
    );
    assert.equal(await gateway.stop(), 0);
  });

  test('is all that the npm package contains beside the launcher, and the package runs without its dependencies', async (t) => {
    assert.equal(readdirSync(dist()).length, 3, 'an earlier build and the manifest');
    const folder = mkdtempSync(join(tmpdir(), 'tocsin-package-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const npm = ['pack', '--silent', '--pack-destination', folder];
    await run('npm', npm, { cwd: file('packages/gateway') });
    const [tarball = ''] = globSync('*.tgz', { cwd: folder });
    await run('tar', ['-xzf', tarball], { cwd: folder });
    const files = globSync('package/**', { cwd: folder }).filter((path) => statSync(join(folder, path)).isFile());
    const expected =
      /^package\/(?:package\.json|bin\/[a-z-]+\.js|dist\/manifest\.json|dist\/[0-9a-f]{16}\/[^.][^/]*\.js|dist\/[0-9a-f]{16}\/(?:chunks\.json|licenses\.txt|web-app\/.+))$/;
    assert.deepEqual(
      files.filter((path) => !expected.test(path)),
      [],
    );
    assert.deepEqual(readdirSync(join(folder, 'package/dist')).sort(), [currentBuild(), 'manifest.json'].sort());
    const { dependencies } = JSON.parse(readFileSync(join(folder, 'package/package.json'), 'utf8')) as {
      dependencies?: object;
    };
    assert.equal(dependencies, undefined);

    const gateway = await serve(t, join(folder, 'package'), { TOCSIN_WORKERS: '2' });
    assert.equal((await notify(gateway, { title: 'from a package' })).body.stored, true);
    const client = await signInAtFirstRun(gateway);
    assert.equal((await search(client, { q: 'package' })).matches.length, 1);
    const page = await (await fetch(gateway.line.console)).text();
    assert.match(page, /<script type="module" crossorigin src="\/assets\/index-/);
    assert.equal(await gateway.stop(), 0);
  });

  test('that is killed leaves the current build in use', async () => {
    const build = currentBuild();
    appendFileSync(file('packages/gateway/src/core/uuid-v7.ts'), '\n// changed\n');
    const child = spawn(process.execPath, [file('scripts/build.mjs')], { stdio: 'ignore' });
    const exited = once(child, 'exit');
    const isUnfinished = (): boolean => readdirSync(dist()).some((name) => name.startsWith('.unfinished-'));
    await eventually('the build has begun', 20_000, isUnfinished, Boolean);
    child.kill('SIGKILL');
    await exited;
    assert.ok(isUnfinished(), 'the build was killed in time');
    assert.equal(currentBuild(), build);
    assert.equal(await version(), nextVersion);
  });
});

/** Starts the gateway of a clone or an unpacked package. */
async function serve(t: TestContext, folder: string, environment: Record<string, string>): Promise<GatewayProcess> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tocsin-test-'));
  const child = spawn(process.execPath, [join(folder, 'bin/tocsin.js'), 'serve'], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TOCSIN_DATA_DIR: dataDir,
      TOCSIN_PORT: '0',
      TOCSIN_CONSOLE_PORT: '0',
      TOCSIN_MQTT_PORT: '0',
      ...environment,
    },
  });
  t.after(() => {
    child.kill('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  });
  const gateway = new GatewayProcess(child);
  await gateway.ready();
  return gateway;
}
