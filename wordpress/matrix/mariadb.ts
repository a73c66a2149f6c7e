// A temporary MariaDB server that listens on a Unix socket only.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { runInGroup } from './process-group.ts';

const program = '/usr/sbin/mariadbd';
const packages = ['mariadb-server-core', 'mariadb-client-core', 'php-mysql'];

export async function withMariadb<T>(use: (socket: string) => Promise<T>): Promise<T> {
  await install();
  const folder = mkdtempSync(join(tmpdir(), 'mariadb-'));
  const socket = join(folder, 'socket');
  const common = ['--no-defaults', '--user=root', `--datadir=${folder}/data`];
  let server: ChildProcess | undefined;
  try {
    const { status, stdout, stderr } = spawnSync(
      'mariadb-install-db',
      [...common, '--auth-root-authentication-method=normal', '--skip-test-db'],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`mariadb-install-db exited with ${status}: ${stdout}${stderr}`);
    // In a separate process group: Ctrl-C must not stop it before its clients.
    server = spawn(program, [...common, `--socket=${socket}`, '--skip-networking'], {
      stdio: 'ignore',
      detached: true,
    });
    const isUp = () => spawnSync('mariadb', ['--no-defaults', `--socket=${socket}`, '-e', 'SELECT 1']).status === 0;
    await eventually('MariaDB responds', 60_000, isUp, (up) => up);
    return await use(socket);
  } finally {
    if (server !== undefined && server.exitCode === null && server.signalCode === null) {
      const ended = once(server, 'exit');
      server.kill();
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  }
}

async function install(): Promise<void> {
  if (existsSync(program)) return;
  if (process.getuid?.() !== 0) throw new Error(`MariaDB is not installed (apt-get install ${packages.join(' ')})`);
  await runInGroup('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages]);
}
