// The real service: a process, started by its command line, on free ports and with its own data directory.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import './build.ts';

export const launcher = fileURLToPath(new URL('../../gateway/bin/tocsin.js', import.meta.url));

export interface ReadyLine {
  event: 'ready';
  api: string;
  console: string;
  /** The address of the inbox for browsers. */
  inbox: string;
  mqtt?: string;
  firstRun?: {
    owner: string;
    key: string;
    device: { id: string; mqtt: { password: string; topic: string } };
    curl: string;
    /** A one-time link that opens the inbox. */
    signIn: string;
  };
}

export interface CommandResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** A data directory with the settings of one installation; processes started in it share it. */
export class Installation {
  readonly dataDir: string;
  readonly environment: Record<string, string>;
  readonly #program: readonly string[];
  readonly #running = new Set<GatewayProcess>();

  private constructor(dataDir: string, environment: Record<string, string>, program: readonly string[]) {
    this.dataDir = dataDir;
    this.#program = program;
    this.environment = {
      TOCSIN_DATA_DIR: dataDir,
      TOCSIN_PORT: '0',
      TOCSIN_CONSOLE_PORT: '0',
      TOCSIN_MQTT_PORT: '0',
      ...environment,
    };
  }

  /** `program` is what Node runs, with its options; default: the launcher. */
  static async create(environment: Record<string, string> = {}, program = [launcher]): Promise<Installation> {
    return new Installation(await mkdtemp(join(tmpdir(), 'tocsin-test-')), environment, program);
  }

  /** `wrapper` is a command line that runs another, such as strace with its options. */
  async serve(environment: Record<string, string> = {}, wrapper: string[] = []): Promise<GatewayProcess> {
    const gateway = this.beginToServe(environment, wrapper);
    await gateway.ready();
    return gateway;
  }

  /** Does not wait until it is ready. */
  beginToServe(environment: Record<string, string> = {}, wrapper: string[] = []): GatewayProcess {
    const child = this.#spawn(['serve'], environment, wrapper);
    const gateway = new GatewayProcess(child);
    this.#running.add(gateway);
    child.once('exit', () => this.#running.delete(gateway));
    return gateway;
  }

  /** `input` is what the command reads from standard input. */
  async run(args: string[], environment: Record<string, string> = {}, input = ''): Promise<CommandResult> {
    const child = this.#spawn(args, environment, []);
    // A command that reads nothing may have ended before.
    child.stdin?.on('error', () => undefined).end(input);
    const [stdout, stderr, [exitCode]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    return { exitCode: exitCode as number, stdout, stderr };
  }

  /**
   * Returns the output of a command on a terminal. When it matches `until`, `use` is awaited while the command still runs;
   * then the command gets Ctrl-C and has to end.
   */
  async screenOf(args: string[], until: RegExp, use?: (screen: string) => Promise<void>): Promise<string> {
    const command = [process.execPath, launcher, ...args].map((word) => `'${word}'`).join(' ');
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...this.environment };
    const child = spawn('script', ['-qec', command, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    let screen = '';
    let used: Promise<void> | undefined;
    for await (const chunk of child.stdout) {
      screen += String(chunk);
      if (used !== undefined || !until.test(screen)) continue;
      used = Promise.resolve(use?.(screen));
      await used.catch(() => undefined);
      if (child.stdin.writable) child.stdin.end('\u0003');
    }
    await used;
    return screen;
  }

  /** Runs a command with --json; if it fails, throws an error with its message. */
  async json<T = Record<string, string>>(...args: string[]): Promise<T> {
    const { exitCode, stdout, stderr } = await this.run([...args, '--json']);
    if (exitCode !== 0) throw new Error(`tocsin ${args.join(' ')} ended with ${exitCode}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  async remove(): Promise<void> {
    await Promise.all([...this.#running].map((gateway) => gateway.kill()));
    await rm(this.dataDir, { recursive: true, force: true });
  }

  #spawn(args: string[], environment: Record<string, string>, wrapper: string[]): ChildProcess {
    const [command, ...rest] = [...wrapper, process.execPath, ...this.#program, ...args] as [string, ...string[]];
    return spawn(command, rest, {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...this.environment, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }
}

export class GatewayProcess {
  readonly child: ChildProcess;
  /** Everything the process wrote to stderr so far: its log. */
  log = '';
  readonly #ready: Promise<ReadyLine>;
  #line: ReadyLine | null = null;

  constructor(child: ChildProcess) {
    this.child = child;
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.log += chunk;
    });
    this.#ready = new Promise((resolve, reject) => {
      const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
      lines.once('line', (line) => resolve(JSON.parse(line) as ReadyLine));
      child.once('exit', (code) =>
        reject(new Error(`The gateway ended with ${code} before it was ready:\n${this.log}`)),
      );
    });
  }

  async ready(): Promise<ReadyLine> {
    this.#line = await this.#ready;
    return this.#line;
  }

  get line(): ReadyLine {
    if (this.#line === null) throw new Error('The gateway is not ready yet.');
    return this.#line;
  }

  get api(): string {
    return this.line.api;
  }

  /** The key of the first run. */
  get key(): string {
    const key = this.line.firstRun?.key;
    if (key === undefined) throw new Error('This was not a first run.');
    return key;
  }

  /** Graceful shutdown; resolves with the exit code. */
  stop(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  kill(): Promise<number | null> {
    return this.#end('SIGKILL');
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const ended = once(this.child, 'exit');
    this.child.kill(signal);
    const [code] = await ended;
    return code as number | null;
  }
}

async function text(stream: NodeJS.ReadableStream | null): Promise<string> {
  let all = '';
  for await (const chunk of stream as AsyncIterable<Buffer>) all += chunk.toString();
  return all;
}
