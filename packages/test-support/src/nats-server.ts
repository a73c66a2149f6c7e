// The real NATS server with its MQTT listener, as a separate process, on free ports of 127.0.0.1.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findFreePort } from './mosquitto.ts';
import { type Obstacle, obstacleIn } from './requires.ts';

const startMs = 30_000;
/** Debian installs it in a folder that is not on every PATH. */
const path = `${process.env.PATH}:/usr/sbin`;
const program = process.env.NATS_SERVER ?? 'nats-server';

/** null when it is installed (apt-get install nats-server), or NATS_SERVER names one. */
export function natsObstacle(): Obstacle {
  return obstacleIn('env', [`PATH=${path}`, program, '--version']);
}

export function isNatsSince(version: string): boolean {
  const { stdout } = spawnSync(program, ['--version'], { env: { PATH: path }, encoding: 'utf8' });
  const found = /v(\d+)\.(\d+)/.exec(stdout)?.slice(1).map(Number) ?? [];
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return (found[0] ?? 0) > major || (found[0] === major && (found[1] ?? 0) >= minor);
}

export class NatsServer {
  /** The port of MQTT. */
  readonly port: number;
  /** The port of the NATS protocol. */
  readonly nativePort: number;
  readonly #folder: string;
  #process: ChildProcess | undefined;

  private constructor(port: number, nativePort: number, folder: string) {
    this.port = port;
    this.nativePort = nativePort;
    this.#folder = folder;
  }

  /** `access` is a block of its configuration, in which `environment` gives the values of variables. */
  static async start(access: string, environment: Record<string, string>): Promise<NatsServer> {
    const [port, nativePort] = [await findFreePort(), await findFreePort()];
    const folder = mkdtempSync(join(tmpdir(), 'tocsin-nats-'));
    const lines = [
      `listen: 127.0.0.1:${nativePort}`,
      'server_name: tocsin_test',
      `jetstream { store_dir: "${folder}" }`,
      `mqtt { listen: "127.0.0.1:${port}" }`,
      access,
    ];
    writeFileSync(join(folder, 'nats.conf'), lines.join('\n'));
    const server = new NatsServer(port, nativePort, folder);
    await server.#run(environment);
    return server;
  }

  async #run(environment: Record<string, string>): Promise<void> {
    const child = spawn(program, ['-c', join(this.#folder, 'nats.conf')], {
      env: { PATH: path, ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#process = child;
    const said: string[] = [];
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const fail = (how: string): void => reject(new Error(`nats-server ${how}:\n${said.join('\n')}`));
        timer = setTimeout(() => fail('did not start in time'), startMs);
        child.once('exit', () => fail('ended'));
        createInterface({ input: child.stderr }).on('line', (line) => {
          said.push(line);
          if (line.includes('Server is ready')) resolve();
        });
      });
    } finally {
      clearTimeout(timer);
    }
  }

  async stop(): Promise<void> {
    const child = this.#process;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
