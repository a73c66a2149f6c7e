// A real WordPress with the companion in it: its own folder, database and port on 127.0.0.1, on a tree that all sites share.
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
  compiledOnce,
  forgetCompiled,
  pluginFolder,
  sitePrefix,
  supportPhp,
  wordpressTree,
  wpCli,
} from './wordpress-files.ts';
import { dropDatabase, installSite } from './wordpress-template.ts';

export interface SiteOptions {
  /** A network of sites under paths, the companion active on all of them. */
  multisite?: boolean;
  /** More plugins, switched on before the companion: file below wp-content/plugins → PHP. */
  plugins?: Record<string, string>;
  /** Without the companion: for tests that install it themselves. */
  withoutCompanion?: boolean;
}

/** A process of its own has nobody to share memory with. */
const alone = ['-d', 'opcache.file_cache_only=1'];

interface Line {
  url: string;
  /** The page that asked for it, as `GET /path`, or `command line`. */
  within: string;
}

export class WordPressSite {
  readonly folder: string;
  readonly url: string;
  readonly admin = { name: 'admin', password: 'password' };
  readonly #host: string;
  #server: ChildProcess | undefined;
  /** Of what is to happen when the process ends with the site still there. */
  readonly #callOff: () => void;

  private constructor(folder: string, host: string) {
    this.folder = folder;
    this.#host = host;
    this.url = `http://${host}`;
    this.#callOff = atExit(() => this.#discard());
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
   * Runs the body of a PHP function inside WordPress and gives back what it returns, through JSON. A value is handed over
   * as `$input`; `path` is the site of a network.
   */
  async php<T = unknown>(code: string, input: unknown = null, path = '/'): Promise<T> {
    const child = spawn('php', [...compiledOnce(), ...alone, join(supportPhp, 'run.php')], {
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
    throw new Error(`PHP ended with ${status}: ${stdout}${stderr}\nThe site's log:\n${this.debugLog()}`);
  }

  /** wp-cli; a failure becomes an error that says what it said. */
  async wp(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await this.tryWp(...args);
    if (status === 0) return stdout.trim();
    throw new Error(`wp ${args.join(' ')} ended with ${status}: ${stdout}${stderr}\n${this.debugLog()}`);
  }

  async tryWp(...args: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
    const fixed = [`--path=${wordpressTree}`, '--allow-root', '--no-color'];
    if (!args.some((argument) => argument.startsWith('--url='))) fixed.push(`--url=${this.url}`);
    const child = spawn('php', [...compiledOnce(), ...alone, '-d', 'memory_limit=512M', wpCli, ...fixed, ...args], {
      env: { ...this.environment(), HOME: this.folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { status: status as number, stdout, stderr };
  }

  /** PHP's own server, with workers: a page may ask its own site for something. */
  async serve(workers = 3): Promise<void> {
    const tree = ['-t', wordpressTree, join(supportPhp, 'router.php')];
    this.#server = spawn('php', [...compiledOnce(), '-S', this.#host, ...tree], {
      env: { ...this.environment(), PHP_CLI_SERVER_WORKERS: String(workers) },
      stdio: 'ignore',
      // Workers outlive the one that started them: all are ended as a group.
      detached: true,
    });
    const answers = () =>
      fetch(`${this.url}/wp-includes/css/buttons.css`).then(
        ({ ok }) => ok,
        () => false,
      );
    await eventually('the site answers', 30_000, answers, (isUp) => isUp);
  }

  async stopServing(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    const ended = once(server, 'exit');
    this.#killServer();
    await ended;
    this.#server = undefined;
  }

  /** A page as a visitor sees it who is not logged in. */
  get(path: string): Promise<Response> {
    return new SiteVisitor(this.url).get(path);
  }

  /** A visitor who is logged in; as the administrator, unless told otherwise. */
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

  /** Every HTTP request that WordPress made, also those that were answered on its behalf. */
  requests(): Line[] {
    return this.#lines('requests.jsonl');
  }

  mails(): { to: string; subject: string; message: string }[] {
    return this.#lines('mails.jsonl');
  }

  debugLog(): string {
    const file = join(this.folder, 'debug.log');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  /** What is in the log so far, for a test that expects something there; then it is empty again. */
  takeDebugLog(): string {
    const log = this.debugLog();
    rmSync(join(this.folder, 'debug.log'), { force: true });
    return log;
  }

  /** Ends everything and fails if the companion left anything in the log. */
  async remove(): Promise<void> {
    await this.stopServing();
    const complaints = this.debugLog()
      .split('\n')
      .filter((line) => /plugins\/tocsin\/|tocsin_|PHP Fatal/i.test(line));
    dropDatabase(this.folder);
    this.#discard();
    assert.deepEqual(complaints, [], 'WordPress logged complaints about the companion');
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
    forgetCompiled(this.folder);
    // Somebody who was killed may still be writing.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    this.#callOff();
  }
}
