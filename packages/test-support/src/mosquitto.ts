// The real broker: Mosquitto as a separate process, on a free port of 127.0.0.1, with its settings in a temporary folder.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Obstacle, obstacleIn } from './requires.ts';

const startMs = 10_000;

/** null when broker and subscriber are installed: apt-get install mosquitto mosquitto-clients. */
export function mosquittoObstacle(): Obstacle {
  // Neither program has an option that ends with 0.
  return obstacleIn('sh', [
    '-c',
    'command -v mosquitto && command -v mosquitto_sub && command -v mosquitto_passwd && command -v stdbuf',
  ]);
}

export interface MosquittoOptions {
  /** Further lines of mosquitto.conf. */
  settings?: string[];
  /** Names and passwords of the users; by default any client may connect. */
  users?: Record<string, string>;
  /** Lines of an ACL file. */
  acl?: string[];
  /** Keeps sessions and their queued messages over shutDown() and run(). */
  isPersistent?: true;
}

export class Mosquitto {
  readonly port: number;
  readonly #folder: string;
  #process: ChildProcess | undefined;

  private constructor(port: number, folder: string) {
    this.port = port;
    this.#folder = folder;
  }

  static async start(options: MosquittoOptions = {}): Promise<Mosquitto> {
    const port = await findFreePort();
    const folder = mkdtempSync(join(tmpdir(), 'tocsin-mosquitto-'));
    // Without `debug`, which writes several lines for each message.
    const log = ['log_dest stderr', ...['error', 'warning', 'notice', 'information'].map((type) => `log_type ${type}`)];
    const lines = [`listener ${port} 127.0.0.1`, ...log, 'user root'];
    lines.push(`allow_anonymous ${options.users === undefined}`);
    if (options.users !== undefined) {
      const file = join(folder, 'passwords');
      writeFileSync(file, '');
      for (const [name, password] of Object.entries(options.users)) {
        execFileSync('mosquitto_passwd', ['-b', file, name, password], { stdio: 'pipe' });
      }
      lines.push(`password_file ${file}`);
    }
    if (options.acl !== undefined) {
      writeFileSync(join(folder, 'acl'), `${options.acl.join('\n')}\n`);
      lines.push(`acl_file ${join(folder, 'acl')}`);
    }
    if (options.isPersistent) lines.push('persistence true', `persistence_location ${folder}/`);
    writeFileSync(join(folder, 'mosquitto.conf'), `${[...lines, ...(options.settings ?? [])].join('\n')}\n`);
    const broker = new Mosquitto(port, folder);
    await broker.run();
    return broker;
  }

  get pid(): number {
    return this.#process?.pid as number;
  }

  /** Starts it, also again after kill(). */
  async run(): Promise<void> {
    const child = spawn('mosquitto', ['-c', join(this.#folder, 'mosquitto.conf')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#process = child;
    const said: string[] = [];
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const fail = (how: string): void => reject(new Error(`Mosquitto ${how}:\n${said.join('\n')}`));
        timer = setTimeout(() => fail('did not start in time'), startMs);
        child.once('exit', () => fail('ended'));
        createInterface({ input: child.stderr }).on('line', (line) => {
          said.push(line);
          if (/mosquitto version \S+ running/.test(line)) resolve();
        });
      });
    } finally {
      clearTimeout(timer);
    }
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** Graceful shutdown. */
  shutDown(): Promise<void> {
    return this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
