// The real database server: PostgreSQL as a separate process, on a free port of 127.0.0.1, with its data in a temporary
// folder. It refuses to run as root, so there it runs as the user that its package made.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { eventually } from './eventually.ts';
import { findFreePort } from './mosquitto.ts';
import { databaseUser, postgresTemplate } from './postgres-template.ts';
import type { Obstacle } from './requires.ts';

const startMs = 20_000;
const programs = globSync('/usr/lib/postgresql/*/bin/postgres').sort().map(dirname).at(-1);

/** null when the server is installed: apt-get install postgresql. */
export function postgresObstacle(): Obstacle {
  if (programs === undefined) return 'there is no /usr/lib/postgresql/*/bin/postgres';
  if (process.getuid?.() === 0 && identity() === null)
    return 'there is no user postgres, and the server does not run as root';
  return null;
}

function identity(): { uid: number; gid: number } | null {
  const { status, stdout } = spawnSync('sh', ['-c', 'id -u postgres && id -g postgres'], { encoding: 'utf8' });
  const [uid, gid] = stdout.split('\n').map(Number);
  return status === 0 && uid !== undefined && gid !== undefined ? { uid, gid } : null;
}

export class Postgres {
  readonly port: number;
  readonly password: string;
  readonly #folder: string;
  /** Options of setpriv that drop root privileges. */
  readonly #as: string[];
  /** The log since the last start. */
  #log: string[] = [];
  #process: ChildProcess | undefined;
  #databases = 0;
  readonly #killAtExit = (): void => this.#signalAll('SIGKILL');

  private constructor(port: number, folder: string, as: string[], password: string) {
    this.port = port;
    this.#folder = folder;
    this.#as = as;
    this.password = password;
  }

  /** `settings` are lines of postgresql.conf. */
  static async start(settings: string[] = []): Promise<Postgres> {
    const folder = mkdtempSync(join(tmpdir(), 'tocsin-postgres-'));
    const own = process.getuid?.() === 0 ? identity() : null;
    if (own !== null) chownSync(folder, own.uid, own.gid);
    const as = own === null ? [] : [`--reuid=${own.uid}`, `--regid=${own.gid}`, '--clear-groups'];
    const template = postgresTemplate(programs ?? '', own, as);
    execFileSync('cp', ['-a', template.data, join(folder, 'data')]);
    const server = new Postgres(await findFreePort(), folder, as, template.password);
    server.#configure(settings);
    await server.run();
    return server;
  }

  #configure(settings: string[]): void {
    const lines = [
      "listen_addresses = '127.0.0.1'",
      `port = ${this.port}`,
      "unix_socket_directories = ''",
      'shared_buffers = 32MB',
      "log_line_prefix = '%d '",
      ...settings,
    ];
    writeFileSync(join(this.#data, 'postgresql.auto.conf'), `${lines.join('\n')}\n`);
  }

  /** Of the process that starts all others of this server. */
  get pid(): number {
    return this.#process?.pid as number;
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  /** Starts it, also again after halt() or kill(). */
  async run(): Promise<void> {
    // It ends with the test process, even if that is killed.
    const dying = ['--pdeathsig', 'SIGQUIT', join(programs ?? '', 'postgres')];
    const child = spawn('setpriv', [...this.#as, ...dying, '-D', this.#data], {
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, LC_ALL: 'C' },
    });
    this.#process = child;
    process.once('exit', this.#killAtExit);
    const said: string[] = [];
    this.#log = said;
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const fail = (how: string): void => reject(new Error(`PostgreSQL ${how}:\n${said.join('\n')}`));
        timer = setTimeout(() => fail('did not start in time'), startMs);
        child.once('exit', () => fail('ended'));
        child.once('error', (error) => fail(`cannot be run (${error.message})`));
        createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
          said.push(line);
          if (/database system is ready to accept (read-only )?connections/.test(line)) resolve();
        });
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** The URL of a new database: empty, or a copy of one that has no connections. */
  async createDatabase(original?: string): Promise<string> {
    this.#databases += 1;
    const name = `tocsin_${this.#databases}`;
    const template = original === undefined ? '' : ` TEMPLATE ${nameIn(original)}`;
    await this.query(this.urlOf('postgres'), `CREATE DATABASE ${name}${template}`);
    return this.urlOf(name);
  }

  async dropDatabase(url: string): Promise<void> {
    await this.query(this.urlOf('postgres'), `DROP DATABASE ${nameIn(url)} WITH (FORCE)`);
  }

  urlOf(database: string, password = this.password): string {
    return `postgres://${databaseUser}:${password}@127.0.0.1:${this.port}/${database}`;
  }

  async query<Row extends object>(url: string, text: string): Promise<Row[]> {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** Every error it has logged for this database since it was started. */
  async errorsOf(url: string): Promise<string[]> {
    const mark = `mark_${randomBytes(6).toString('hex')}`;
    await this.query(url, `DO $$ BEGIN RAISE LOG '${mark}'; END $$`);
    const log = this.#log;
    await eventually('the log is read', startMs, () => log.some((line) => line.includes(mark)), Boolean);
    return log.filter((line) => / (ERROR|FATAL|PANIC): /.test(line) && line.includes(nameIn(url)));
  }

  /** Makes it a standby without a primary: read-only. */
  async becomeStandby(): Promise<void> {
    await this.halt();
    writeFileSync(join(this.#data, 'standby.signal'), '');
    await this.run();
  }

  /** Fast shutdown, which closes the connections. */
  async halt(): Promise<void> {
    await this.#end(() => this.#process?.kill('SIGINT'));
  }

  /** Simulates a power failure: kills all its processes. */
  async kill(): Promise<void> {
    await this.#end(() => this.#signalAll('SIGKILL'));
  }

  freeze(): void {
    this.#signalAll('SIGSTOP');
  }

  thaw(): void {
    this.#signalAll('SIGCONT');
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #end(signal: () => void): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    process.off('exit', this.#killAtExit);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const family = processesOf(child.pid as number);
    this.#process = child;
    signal();
    this.#process = undefined;
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    // The next start needs the shared memory, which the last process releases.
    await eventually(
      'every process of PostgreSQL has ended',
      startMs,
      () => family.filter(isAlive),
      (left) => left.length === 0,
    );
  }

  #signalAll(signal: NodeJS.Signals): void {
    const pid = this.#process?.pid;
    if (pid === undefined) return;
    // The first starts the others, so it is stopped before them.
    for (const each of processesOf(pid)) {
      try {
        process.kill(each, signal);
      } catch {
        // It ended meanwhile.
      }
    }
  }
}

function nameIn(url: string): string {
  return new URL(url).pathname.slice(1);
}

function processesOf(parent: number): number[] {
  const children = globSync('/proc/[0-9]*/stat')
    .map((file) => readStat(file))
    .filter((stat) => stat?.parent === parent)
    .map((stat) => stat?.pid as number);
  return [parent, ...children];
}

function isAlive(pid: number): boolean {
  const stat = readStat(`/proc/${pid}/stat`);
  return stat !== null && stat.state !== 'Z';
}

/** https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function readStat(file: string): { pid: number; state: string; parent: number } | null {
  try {
    const text = readFileSync(file, 'utf8');
    const [state = '', parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { pid: Number.parseInt(text, 10), state, parent: Number(parent) };
  } catch {
    return null;
  }
}
