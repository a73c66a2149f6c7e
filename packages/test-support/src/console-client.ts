// Acts like a browser that is signed in: keeps the cookies, and sends the header Origin.
import assert from 'node:assert/strict';
import { assertResponse } from './console-contract.ts';
import type { GatewayProcess, Installation } from './gateway-process.ts';

export interface ConsoleResponse<T> {
  status: number;
  headers: Headers;
  /** null if the response has no body. */
  body: T;
}

type Json = Record<string, unknown>;

export class ConsoleClient {
  /** Without a slash at the end. */
  readonly origin: string;
  readonly cookies = new Map<string, string>();

  constructor(consoleUrl: string) {
    this.origin = new URL(consoleUrl).origin;
  }

  get<T = Json>(path: string, headers?: Record<string, string>): Promise<ConsoleResponse<T>> {
    return this.ask('GET', path, undefined, headers);
  }

  post<T = Json>(path: string, body?: unknown, headers?: Record<string, string>): Promise<ConsoleResponse<T>> {
    return this.ask('POST', path, body, headers);
  }

  put<T = Json>(path: string, body?: unknown): Promise<ConsoleResponse<T>> {
    return this.ask('PUT', path, body);
  }

  delete<T = Json>(path: string): Promise<ConsoleResponse<T>> {
    return this.ask('DELETE', path);
  }

  async ask<T = Json>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ConsoleResponse<T>> {
    const response = await this.fetch(path, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const answer = { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
    assertResponse(method, path, answer);
    return answer;
  }

  /** For responses that are streamed; `path` begins with a slash. Redirects are not followed. */
  async fetch(path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
    const response = await fetch(this.origin + path, {
      redirect: 'manual',
      ...init,
      headers: { ...this.headers, ...init.headers },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }

  /** The headers of every request of the page. */
  get headers(): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return { origin: this.origin, ...(cookie !== '' && { cookie }) };
  }

  async useLink(url: string): Promise<void> {
    const { status, body } = await this.post('/api/sign-in/link', { token: tokenIn(url) });
    assert.deepEqual({ status, body }, { status: 200, body: { ok: true } });
  }
}

/** The token in the fragment of a sign-in link. */
export function tokenIn(url: string): string {
  return new URL(url).hash.slice(1);
}

/** Signed in with the link that the first run printed, which works once. */
export async function signInAtFirstRun({ line }: GatewayProcess): Promise<ConsoleClient> {
  assert.ok(line.firstRun, 'this was not a first run');
  const client = new ConsoleClient(line.console);
  await client.useLink(line.firstRun.signIn);
  return client;
}

/** Signed in as any owner, with a link from the command line. */
export async function signInAs(
  installation: Installation,
  gateway: GatewayProcess,
  ownerId: string,
): Promise<ConsoleClient> {
  const client = new ConsoleClient(gateway.line.console);
  await client.useLink(await linkFor(installation, client.origin, ownerId));
  return client;
}

export async function linkFor(installation: Installation, origin: string, ownerId: string): Promise<string> {
  const { exitCode, stdout, stderr } = await installation.run(['owner', 'sign-in', ownerId, '--json'], {
    TOCSIN_CONSOLE_URL: origin,
  });
  assert.equal(exitCode, 0, stderr);
  return (JSON.parse(stdout) as { url: string }).url;
}
