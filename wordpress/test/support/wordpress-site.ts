// A real WordPress with the companion: its own folder, database and port on 127.0.0.1, with core files shared by all sites.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { findFreePort } from '@tocsin/test-support/mosquitto.ts';
import { atExit } from './at-exit.ts';
import { SiteVisitor } from './site-visitor.ts';
import {
  deleteCompiled,
  opcacheOptions,
  pluginFolder,
  sitePrefix,
  supportPhp,
  wordpressTree,
  wpCli,
} from './wordpress-files.ts';
import { dropDatabase, installSite } from './wordpress-template.ts';

export interface SiteOptions {
  /** A multisite network with subdirectories, the companion active on all sites. */
  multisite?: boolean;
  /** Additional plugins, activated before the companion: file below wp-content/plugins → PHP. */
  plugins?: Record<string, string>;
  /** Do not install the companion: for tests that install it themselves. */
  withoutCompanion?: boolean;
}

/** A single process does not benefit from shared memory. */
const fileCacheOnly = ['-d', 'opcache.file_cache_only=1'];

interface RequestRecord {
  url: string;
  /** The page that made the request, as `GET /path`, or `command line`. */
  within: string;
}

export class WordPressSite {
  readonly folder: string;
  readonly url: string;
  readonly admin = { name: 'admin', password: 'password' };
  readonly #host: string;
  #server: ChildProcess | undefined;

  readonly #cancelCleanUp: () => void;

  private constructor(folder: string, host: string) {
    this.folder = folder;
    this.#host = host;
    this.url = `http://${host}`;
    this.#cancelCleanUp = atExit(() => this.#discard());
  }

  static async create(options: SiteOptions = {}): Promise<WordPressSite> {
    const host = `127.0.0.1:${await findFreePort()}`;
    const site = new WordPressSite(mkdtempSync(join(tmpdir(), sitePrefix)), host);
    try {
      await site.#install(options);
    } catch (error) {
      site.#discard();
      throw error;
    }
    return site;
  }

  /** Writes a file below wp-content: `mu-plugins/x.php`, `plugins/x/x.php`. */
  write(path: string, content: string): void {
    const file = join(this.folder, 'wp-content', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }

  /** Adds constants to the site's configuration. */
  define(constants: Record<string, string | number | boolean>): void {
    const lines = Object.entries(constants).map(([name, value]) => `define( '${name}', ${JSON.stringify(value)} );\n`);
    writeFileSync(join(this.folder, 'wp-config.php'), lines.join(''), { flag: 'a' });
  }

  /**
   * Runs the body of a PHP function inside WordPress and returns its result, converted through JSON. `input` is available
   * as `$input`; `path` selects the site of a network.
   */
  async php<T = unknown>(code: string, input: unknown = null, path = '/'): Promise<T> {
    const child = spawn('php', [...opcacheOptions(), ...fileCacheOnly, join(supportPhp, 'run.php')], {
      env: { ...this.environment(), WORDPRESS_PATH: path },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    });
    const encoded = Buffer.from(JSON.stringify(input)).toString('base64');
    child.stdin.on('error', () => undefined);
    child.stdin.end(`$input = json_decode( base64_decode( '${encoded}' ), true );\n${code}`);
    const [result, stdout, stderr, [status]] = await Promise.all([
      text(child.stdio[3] as Readable),
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    if (status === 0 && result !== '') return JSON.parse(result) as T;
    throw new Error(`PHP exited with ${status}: ${stdout}${stderr}\nThe site's log:\n${this.debugLog()}`);
  }

  /** Runs wp-cli; throws its output if it fails. */
  async wp(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await this.tryWp(...args);
    if (status === 0) return stdout.trim();
    throw new Error(`wp ${args.join(' ')} exited with ${status}: ${stdout}${stderr}\n${this.debugLog()}`);
  }

  async tryWp(...args: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
    const fixed = [`--path=${wordpressTree}`, '--allow-root', '--no-color'];
    if (!args.some((argument) => argument.startsWith('--url='))) fixed.push(`--url=${this.url}`);
    const child = spawn(
      'php',
      [...opcacheOptions(), ...fileCacheOnly, '-d', 'memory_limit=512M', wpCli, ...fixed, ...args],
      {
        env: { ...this.environment(), HOME: this.folder },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const [stdout, stderr, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { status: status as number, stdout, stderr };
  }

  /** Starts PHP's built-in web server, with several workers, because a page may send a loopback request. */
  async serve(workers = 3): Promise<void> {
    const tree = ['-t', wordpressTree, join(supportPhp, 'router.php')];
    this.#server = spawn('php', [...opcacheOptions(), '-S', this.#host, ...tree], {
      env: { ...this.environment(), PHP_CLI_SERVER_WORKERS: String(workers) },
      stdio: 'ignore',
      // Workers survive their parent process, so all are killed as a process group.
      detached: true,
    });
    const isReachable = () =>
      fetch(`${this.url}/wp-includes/css/buttons.css`).then(
        ({ ok }) => ok,
        () => false,
      );
    await eventually('the site responds', 30_000, isReachable, (isUp) => isUp);
  }

  async stopServing(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    const ended = once(server, 'exit');
    this.#killServer();
    await ended;
    this.#server = undefined;
  }

  /** Requests a page without being logged in. */
  get(path: string): Promise<Response> {
    return new SiteVisitor(this.url).get(path);
  }

  /** Returns a visitor who is logged in, by default as administrator. */
  async login(user: { name: string; password: string } = this.admin): Promise<SiteVisitor> {
    const visitor = new SiteVisitor(this.url);
    await visitor.login(user);
    return visitor;
  }

  async createUser(role: string): Promise<{ name: string; password: string }> {
    const user = { name: `a-${role}`, password: 'password' };
    await this.php(
      `$id = wp_insert_user( array( 'user_login' => $input['name'], 'user_pass' => $input['password'], 'user_email' => $input['name'] . '@example.com', 'role' => $input['role'] ) );
      return is_wp_error( $id ) ? trigger_error( $id->get_error_message(), E_USER_ERROR ) : $id;`,
      { ...user, role },
    );
    return user;
  }

  /** Returns all HTTP requests made by WordPress, including those with a stubbed response. */
  requests(): RequestRecord[] {
    return this.#lines('requests.jsonl');
  }

  debugLog(): string {
    const file = join(this.folder, 'debug.log');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  /** Returns and empties the log, for tests that expect entries. */
  takeDebugLog(): string {
    const log = this.debugLog();
    rmSync(join(this.folder, 'debug.log'), { force: true });
    return log;
  }

  /** Stops the server, deletes the site, and fails if the log contains errors of the companion. */
  async remove(): Promise<void> {
    await this.stopServing();
    const complaints = this.debugLog()
      .split('\n')
      .filter((line) => /plugins\/tocsin\/|tocsin_|PHP Fatal/i.test(line));
    dropDatabase(this.folder);
    this.#discard();
    assert.deepEqual(complaints, [], 'WordPress logged errors of the companion');
  }

  environment(): Record<string, string> {
    return {
      PATH: process.env.PATH ?? '',
      TMPDIR: tmpdir(),
      WORDPRESS_SITE: this.folder,
      WORDPRESS_TREE: wordpressTree,
      WORDPRESS_HOST: this.#host,
    };
  }

  async #install(options: SiteOptions): Promise<void> {
    const kind = options.multisite === true ? 'network' : 'single';
    installSite(this.folder, this.#host, kind);
    const plugins = Object.keys(options.plugins ?? {});
    for (const [path, source] of Object.entries(options.plugins ?? {})) this.write(`plugins/${path}`, source);
    if (options.withoutCompanion !== true) {
      cpSync(pluginFolder, join(this.folder, 'wp-content', 'plugins', 'tocsin'), { recursive: true });
      plugins.push('tocsin/tocsin.php');
    }
    if (plugins.length > 0) await this.#activate(plugins, kind);
  }

  async #activate(plugins: string[], kind: 'single' | 'network'): Promise<void> {
    const problems = await this.php<string[]>(
      `require_once ABSPATH . 'wp-admin/includes/plugin.php';
      $problems = array();
      foreach ( $input['plugins'] as $plugin ) {
        $result = activate_plugin( $plugin, '', $input['network'] );
        if ( is_wp_error( $result ) ) {
          $problems[] = $plugin . ': ' . $result->get_error_message() . wp_json_encode( $result->get_error_data() );
        }
      }
      return $problems;`,
      { plugins, network: kind === 'network' },
    );
    assert.deepEqual(problems, [], 'Plugins could not be activated');
  }

  #lines<T>(name: string): T[] {
    const file = join(this.folder, name);
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line) as T);
  }

  #killServer(): void {
    if (this.#server?.pid === undefined) return;
    try {
      process.kill(-this.#server.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  #discard(): void {
    this.#killServer();
    deleteCompiled(this.folder);
    // A killed process may still be writing.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    this.#cancelCleanUp();
  }
}
