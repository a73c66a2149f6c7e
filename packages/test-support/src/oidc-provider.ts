// A real OpenID provider on this machine, with its own sign-in pages, and a client that follows them.
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';

export interface OidcAccount {
  email?: string;
  email_verified?: boolean;
  name?: string;
}

export class TestOidcProvider {
  readonly issuer: string;
  readonly clientSecret = randomBytes(16).toString('hex');
  readonly #server: Server;
  readonly #accounts: Record<string, OidcAccount>;

  private constructor(server: Server, accounts: Record<string, OidcAccount>) {
    this.#server = server;
    this.#accounts = accounts;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** The port is reserved, but the provider is down until `open`. `accounts` are by sign-in name. */
  static async start(accounts: Record<string, OidcAccount>): Promise<TestOidcProvider> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    server.once('request', (_request, response) => response.writeHead(503).end());
    return new TestOidcProvider(server, accounts);
  }

  /** The settings of a gateway that uses this provider. */
  get settings(): Record<string, string> {
    return {
      TOCSIN_OIDC_ISSUER: this.issuer,
      TOCSIN_OIDC_CLIENT_ID: 'tocsin',
      TOCSIN_OIDC_CLIENT_SECRET: this.clientSecret,
      TOCSIN_OIDC_NAME: 'Team sign-in',
    };
  }

  open(...consoleOrigins: string[]): void {
    const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
    const provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: 'tocsin',
          client_secret: this.clientSecret,
          redirect_uris: consoleOrigins.map((origin) => `${origin}/api/sign-in/oidc/callback`),
        },
      ],
      claims: { email: ['email', 'email_verified'], profile: ['name'] },
      findAccount: (_context, id) => ({ accountId: id, claims: async () => ({ sub: id, ...this.#accounts[id] }) }),
      jwks: { keys: [key as { kty: string }] },
      cookies: { keys: [randomBytes(16).toString('hex')] },
      pkce: { required: () => true },
      ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
    });
    this.#server.removeAllListeners('request').on('request', provider.callback());
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Signs in as that account and gives every consent; returns the address to which the browser is redirected. */
  async walk(url: string, account: string): Promise<string> {
    const cookies = new Map<string, string>();
    let next: string | undefined = url;
    let form: URLSearchParams | null = null;
    for (let steps = 0; steps < 12 && next?.startsWith(this.issuer); steps += 1) {
      const response: Response = await fetch(next, {
        redirect: 'manual',
        headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
        ...(form !== null && { method: 'POST', body: form }),
      });
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      const page = await response.text();
      const location: string | null = response.headers.get('location');
      form = location === null ? this.#fillIn(page, account) : null;
      next = location === null ? next : new URL(location, next).href;
    }
    assert.ok(next !== undefined && !next.startsWith(this.issuer), 'the provider sends the browser back');
    return next;
  }

  #fillIn(page: string, account: string): URLSearchParams {
    const [, prompt] = /name="prompt" value="(\w+)"/.exec(page) ?? [];
    assert.ok(prompt, page);
    return new URLSearchParams({ prompt, ...(prompt === 'login' && { login: account, password: 'any' }) });
  }
}
