import assert from 'node:assert/strict';

/** A minimal HTTP client that keeps cookies and does not follow redirects. */
export class SiteVisitor {
  readonly #url: string;
  readonly cookies = new Map<string, string>();

  constructor(url: string) {
    this.#url = url;
  }

  get(path: string): Promise<Response> {
    return this.#request(path, {});
  }

  /** Submits a form. */
  post(path: string, fields: Record<string, string>): Promise<Response> {
    return this.#request(path, { method: 'POST', body: new URLSearchParams(fields) });
  }

  async login({ name, password }: { name: string; password: string }): Promise<void> {
    await this.get('/wp-login.php');
    const response = await this.post('/wp-login.php', { log: name, pwd: password, testcookie: '1' });
    assert.equal(response.status, 302, `${name} could not log in`);
  }

  async #request(path: string, init: RequestInit): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(new URL(path, this.#url), { ...init, headers: { cookie }, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split(/=(.*)/s);
      this.cookies.set(name, value);
    }
    return response;
  }
}
