// Runs the service and a real browser, one of each per suite; every test has its own pages.
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { ConsoleClient, linkFor } from '@tocsin/test-support/console-client.ts';
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { notify, type ResponseBody } from '@tocsin/test-support/requests.ts';
import { canRun, type Obstacle } from '@tocsin/test-support/requires.ts';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { watchPages } from './watch-pages.ts';

/** The headless shell starts faster, but only the full browser can show notifications. */
const programs = { shell: 'chromium-headless-shell', whole: 'chromium' };
type Program = keyof typeof programs;

export const phone = { width: 360, height: 740 };
export const desktop = { width: 1280, height: 800 };

export interface PageOptions
  extends Pick<
    BrowserContextOptions,
    'viewport' | 'colorScheme' | 'permissions' | 'hasTouch' | 'locale' | 'forcedColors'
  > {
  /** true signs in the owner of the first run. */
  signedIn?: boolean | ConsoleClient;
  /** Browser console errors that the test expects. A 401 is always expected while signed out. */
  expectedErrors?: RegExp;
  /** Further allowed hosts, such as `localhost:1234`. */
  otherHosts?: string[];
}

type Environment = Record<string, string>;

/** To be called in a suite: starts the service and the browser before its tests and stops them afterwards. */
export function openInbox(
  environment: Environment | (() => Promise<Environment>) = {},
  program: Program = 'shell',
): InboxSite {
  const site = new InboxSite(program);
  before(async () => {
    if (site.obstacle === null) await site.open(typeof environment === 'function' ? await environment() : environment);
  });
  after(() => site.close());
  return site;
}

export class InboxSite {
  readonly #program: string;
  #installation: Installation | undefined;
  #gateway: GatewayProcess | undefined;
  #browser: Browser | undefined;
  #isLinkUsed = false;
  #owner: Promise<ConsoleClient> | undefined;

  constructor(program: Program) {
    this.#program = `/usr/bin/${programs[program]}`;
  }

  get obstacle(): Obstacle {
    const name = basename(this.#program);
    return existsSync(this.#program) ? null : `${this.#program} is not installed (apt-get install ${name})`;
  }

  /** A test in the browser. Without a browser it is skipped, and fails in CI. */
  test(name: string, run: (t: TestContext) => Promise<void>): void {
    void test(name, async (t) => {
      if (canRun(t, this.obstacle)) await run(t);
    });
  }

  async open(environment: Record<string, string>): Promise<void> {
    this.#installation = await Installation.create(environment);
    // Each is stored as soon as it has started, so that it is closed even if the other fails.
    const opened = await Promise.allSettled([
      this.#installation.serve().then((gateway) => {
        this.#gateway = gateway;
      }),
      launch(this.#program).then((browser) => {
        this.#browser = browser;
      }),
    ]);
    for (const each of opened) if (each.status === 'rejected') throw each.reason;
  }

  async close(): Promise<void> {
    await this.#browser?.close();
    await this.#installation?.remove();
  }

  get installation(): Installation {
    return started(this.#installation);
  }

  get gateway(): GatewayProcess {
    return started(this.#gateway);
  }

  get browser(): Browser {
    return started(this.#browser);
  }

  /** The origin of the console by host name, which passkeys, service workers and push require. */
  get origin(): string {
    return `http://localhost:${new URL(this.gateway.line.console).port}`;
  }

  /** The one-time link that the first run printed. Can be taken once. */
  takeSignInLink(): string {
    const link = this.gateway.line.firstRun?.signIn;
    if (link === undefined || this.#isLinkUsed) throw new Error('The sign-in link of the first run has been used.');
    this.#isLinkUsed = true;
    return link;
  }

  /** A client of the console's API, signed in as the owner of the first run. */
  owner(): Promise<ConsoleClient> {
    this.#owner ??= this.signIn(this.gateway.line.firstRun?.owner ?? '');
    return this.#owner;
  }

  /** A new session of an owner. */
  async signIn(ownerId: string): Promise<ConsoleClient> {
    const client = new ConsoleClient(this.origin);
    const isFirstOwner = ownerId === this.gateway.line.firstRun?.owner;
    const link =
      isFirstOwner && !this.#isLinkUsed
        ? this.takeSignInLink()
        : await linkFor(this.installation, this.origin, ownerId);
    await client.useLink(link);
    return client;
  }

  /** A page in its own browser context. The test fails at its end on errors in the page and on requests to other hosts. */
  async newPage(t: TestContext, options: PageOptions = {}): Promise<Page> {
    const { signedIn = false, expectedErrors, otherHosts = [], ...contextOptions } = options;
    const context = await this.browser.newContext({ viewport: desktop, baseURL: this.origin, ...contextOptions });
    t.after(() => context.close());
    const hosts = new Set([new URL(this.origin).host, new URL(this.gateway.api).host, ...otherHosts]);
    hosts.add(`localhost:${new URL(this.gateway.api).port}`);
    const expected = [...(expectedErrors ? [expectedErrors] : []), ...(signedIn === false ? [/status of 401/] : [])];
    const problems = watchPages(context, hosts, expected);
    t.after(() => {
      if (problems.length > 0) throw new Error(`In the browser:\n${problems.join('\n')}`);
    });
    if (signedIn !== false) {
      const { cookies } = signedIn === true ? await this.owner() : signedIn;
      await context.addCookies(
        [...cookies].map(([name, value]) => ({ name, value, url: this.origin, httpOnly: true })),
      );
    }
    return context.newPage();
  }

  /** Sends POST / with the key of the first run, and returns the response body. */
  async post(notification: object): Promise<ResponseBody> {
    const { status, body } = await notify(this.gateway, notification);
    if (status >= 300) throw new Error(`The notification was rejected: ${JSON.stringify(body)}`);
    return body;
  }
}

function launch(program: string): Promise<Browser> {
  return chromium.launch({
    executablePath: program,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-proxy-server'],
  });
}

function started<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('The service has not been started: use openInbox() in a suite.');
  return part;
}
