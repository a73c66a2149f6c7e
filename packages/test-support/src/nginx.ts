// The real nginx, on a free port of 127.0.0.1, with the settings that the operators' guide gives.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { isListening } from './is-listening.ts';
import { findFreePort } from './mosquitto.ts';
import { type Obstacle, obstacleIn } from './requires.ts';

// Debian installs servers in /usr/sbin, which is not on every PATH.
const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };

/** null when it is installed: apt-get install nginx-light. */
export function nginxObstacle(): Obstacle {
  return obstacleIn('sh', ['-c', 'PATH=$PATH:/usr/sbin nginx -v']);
}

/** The example in the guide, verbatim. */
export function nginxExample(): string {
  const guide = readFileSync(new URL('../../../docs/operators.md', import.meta.url), 'utf8');
  const example = /```nginx\n(.*?)```/s.exec(guide)?.[1];
  if (example === undefined) throw new Error('docs/operators.md has no nginx example.');
  return example;
}

export class Nginx {
  readonly port: number;
  readonly #folder: string;
  readonly #process: ChildProcess;

  private constructor(port: number, folder: string, process: ChildProcess) {
    this.port = port;
    this.#folder = folder;
    this.#process = process;
  }

  /** `changes`: text of the example → its replacement, for other ports and paths. Each text must occur. */
  static async start(example: string, changes: (port: number) => Record<string, string>): Promise<Nginx> {
    const port = await findFreePort();
    const folder = mkdtempSync(join(tmpdir(), 'tocsin-nginx-'));
    let site = example;
    for (const [from, to] of Object.entries(changes(port))) {
      if (!site.includes(from)) throw new Error(`The example does not have: ${from}`);
      site = site.replaceAll(from, to);
    }
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    // Started by root it would serve as a user without write permission in the folder.
    const user = process.getuid?.() === 0 ? 'user root;' : '';
    const settings = `
      ${user}
      daemon off;
      pid nginx.pid;
      error_log stderr warn;
      worker_processes 1;
      events { worker_connections 512; }
      http {
        access_log off;
        ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
        ${site}
      }`;
    writeFileSync(join(folder, 'nginx.conf'), settings);
    const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: environment,
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const nginx = new Nginx(port, folder, child);
    await eventually(
      'nginx listens',
      10_000,
      async () => ({ isListening: await isListening(port), exitCode: child.exitCode, said }),
      ({ isListening, exitCode }) => isListening || exitCode !== null,
    );
    if (child.exitCode !== null) throw new Error(`nginx ended: ${said}`);
    return nginx;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null) {
      const exited = once(this.#process, 'exit');
      this.#process.kill('SIGTERM');
      await exited;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
