// A real browser in wp-admin. Errors in a page and requests to other hosts fail the test.
import { existsSync } from 'node:fs';
import type { TestContext } from 'node:test';
import type { Obstacle } from '@tocsin/test-support/requires.ts';
import { type Browser, chromium, type Page } from 'playwright-core';
import { watchPages } from '../../../packages/inbox/test/support/watch-pages.ts';
import type { WordPressSite } from './wordpress-site.ts';

const program = '/usr/bin/chromium-headless-shell';

export interface AdminPageOptions {
  viewport?: { width: number; height: number };
  javaScriptEnabled?: boolean;
}

export class AdminBrowser {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static get obstacle(): Obstacle {
    return existsSync(program) ? null : `${program} is not installed (apt-get install chromium-headless-shell)`;
  }

  static async open(): Promise<AdminBrowser> {
    const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-proxy-server'];
    return new AdminBrowser(await chromium.launch({ executablePath: program, args }));
  }

  close(): Promise<void> {
    return this.#browser.close();
  }

  /** Opens a page in a separate browser context, logged in as administrator. */
  async newPage(t: Pick<TestContext, 'after'>, site: WordPressSite, options: AdminPageOptions = {}): Promise<Page> {
    const { cookies } = await site.login();
    const context = await this.#browser.newContext({
      viewport: { width: 1280, height: 900 },
      baseURL: site.url,
      ...options,
    });
    t.after(() => context.close());
    const problems = watchPages(context, new Set([new URL(site.url).host]), []);
    t.after(() => {
      if (problems.length > 0) throw new Error(`In the browser:\n${problems.join('\n')}`);
    });
    await context.addCookies([...cookies].map(([name, value]) => ({ name, value, url: site.url, httpOnly: true })));
    return context.newPage();
  }
}
