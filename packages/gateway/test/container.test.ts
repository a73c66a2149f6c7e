// The image as the Dockerfile builds it. Its steps are run in a folder, because test machines rarely have a container
// builder.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { currentBuild } from '@tocsin/test-support/build.ts';
import { type PlayedImage, playDockerfile } from '@tocsin/test-support/dockerfile.ts';
import { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { findFreePort } from '@tocsin/test-support/mosquitto.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun, type Obstacle, obstacleIn } from '@tocsin/test-support/requires.ts';

const clone = fileURLToPath(new URL('../../../', import.meta.url));

/** npm has to reach its registry. */
function registryObstacle(): Obstacle {
  return obstacleIn('npm', ['ping', '--fetch-retries=0', '--fetch-timeout=10000']);
}

async function exitCode(child: ChildProcess): Promise<unknown> {
  const [code] = await once(child, 'exit');
  return code;
}

suite('The image', () => {
  const obstacle = registryObstacle();
  let image: PlayedImage;

  before(() => {
    if (obstacle === null) image = playDockerfile(clone);
  });
  after(() => image?.remove());

  /** Free ports of this machine; in a container the default ports are free. */
  async function freePorts(): Promise<Record<string, string>> {
    const [api, console, mqtt] = [await findFreePort(), await findFreePort(), await findFreePort()];
    return { TOCSIN_PORT: `${api}`, TOCSIN_CONSOLE_PORT: `${console}`, TOCSIN_MQTT_PORT: `${mqtt}` };
  }

  test('starts as an unprivileged user, accepts a notification, is healthy, and stops with 0', async (t) => {
    if (!canRun(t, obstacle)) return;
    const ports = await freePorts();
    const child = image.run(ports);
    t.after(() => child.kill('SIGKILL'));
    const gateway = new GatewayProcess(child);
    await gateway.ready();
    const [uid] = image.user.split(':').map(Number);
    if (process.getuid?.() === 0) {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      assert.match(status, new RegExp(`^Uid:\\s+${uid}\\s`, 'm'));
      assert.notEqual(uid, 0);
    }
    assert.match(gateway.api, /^http:\/\/0\.0\.0\.0:/, 'it listens on every address of the container');
    const api = gateway.api.replace('0.0.0.0', '127.0.0.1');
    assert.equal((await notify({ api, key: gateway.key }, { title: 'from a container' })).body.stored, true);
    assert.equal(await exitCode(image.exec(image.healthcheck, ports)), 0);

    const page = await fetch(gateway.line.console.replace('0.0.0.0', '127.0.0.1'));
    assert.match(
      await page.text(),
      /<script type="module" crossorigin src="\/assets\/index-/,
      'the inbox app is built',
    );

    // Commands beside the server, as `docker exec` runs them.
    const command = image.exec(['tocsin', 'inbox', 'list', '--json'], ports);
    assert.match(await text(command.stdout as NodeJS.ReadableStream), /from a container/);

    child.kill(image.stopSignal as NodeJS.Signals);
    assert.equal(await exitCode(child), 0);
    assert.equal(await exitCode(image.exec(image.healthcheck, ports)), 1, 'and is then unhealthy');
  });

  test('keeps everything in its volume, which no other user can read', async (t) => {
    if (!canRun(t, obstacle)) return;
    const [volume = ''] = image.volumes;
    const folder = join(image.root, volume);
    assert.equal(image.environment.TOCSIN_DATA_DIR, folder);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    if (process.getuid?.() === 0) assert.equal(`${statSync(folder).uid}:${statSync(folder).gid}`, image.user);
  });

  test('contains the launcher and the build of the clone, byte for byte, and nothing else', async (t) => {
    if (!canRun(t, obstacle)) return;
    const app = join(image.root, 'app');
    const files = globSync('**', { cwd: app }).filter((path) => statSync(join(app, path)).isFile());
    const inBuild = files.filter((path) => path.startsWith('dist/'));
    assert.deepEqual(files.filter((path) => !path.startsWith('dist/')).sort(), [
      'bin/compile-cache.js',
      'bin/tocsin',
      'bin/tocsin.js',
      'deploy/healthcheck.js',
      'package.json',
    ]);
    const ofClone = globSync('**', { cwd: currentBuild }).filter((path) => statSync(join(currentBuild, path)).isFile());
    const names = ['dist/manifest.json', ...ofClone.map((path) => `dist/${basename(currentBuild)}/${path}`)];
    assert.deepEqual(inBuild.sort(), names.sort());
    for (const path of inBuild) {
      const expected = readFileSync(join(clone, 'packages/gateway', path));
      assert.ok(readFileSync(join(app, path)).equals(expected), path);
    }
  });

  test('uses the Node version that the launcher requires', async (t) => {
    if (!canRun(t, obstacle)) return;
    const launcher = readFileSync(join(clone, 'packages/gateway/bin/tocsin.js'), 'utf8');
    const wanted = /wantedMajor = (\d+)/.exec(launcher)?.[1];
    assert.match(image.base, new RegExp(`^node:${wanted}(\\.|-|$)`));
  });
});
