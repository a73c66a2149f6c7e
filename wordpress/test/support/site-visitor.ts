import assert from 'node:assert/strict';

/** A browser as far as these tests need one: it keeps cookies and does not follow redirects. */
export class SiteVisitor {
  readonly #url: string;
  readonly cookies = new Map<string, string>();

  constructor(url: string) {
    this.#url = url;
  }

  get(path: string): Promise<Response> {
    return this.#ask(path, {});
  }

  /** Sends a form. */
  post(path: string, fields: Record<string, string>): Promise<Response> {
    return this.#ask(path, { method: 'POST', body: new URLSearchParams(fields) });
  }

  async login({ name, password }: { name: string; password: string }): Promise<void> {
    await this.get('/wp-login.php');
    const answer = await this.post('/wp-login.php', { log: name, pwd: password, testcookie: '1' });
    assert.equal(answer.status, 302, `${name} could not log in`);
  }

  async #ask(path: string, init: RequestInit): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(new URL(path, this.#url), { ...init, headers: { cookie }, redirect: 'manual' });
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split(/=(.*)/s);
      this.cookies.set(name, value);
    }
    return answer;
  }
}
