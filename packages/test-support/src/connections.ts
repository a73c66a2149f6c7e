import { Agent, request } from 'node:http';
import { request as requestSecurely, Agent as SecureAgent } from 'node:https';

/** A caller with a fixed number of connections that are kept open, and closed all at once; or with a new one per request. */
export class Connections {
  readonly #api: string;
  readonly #key: string;
  readonly #agent: Agent;

  constructor({ api, key }: { api: string; key: string }, count: number, keepAlive = true) {
    this.#api = api;
    this.#key = key;
    const options = { keepAlive, maxSockets: count };
    // Other tests verify the certificate.
    this.#agent = this.#isSecure ? new SecureAgent({ ...options, rejectUnauthorized: false }) : new Agent(options);
  }

  get #isSecure(): boolean {
    return this.#api.startsWith('https:');
  }

  /** Resolves when the response is complete. */
  notify(notification: object, signal?: AbortSignal): Promise<{ status: number; text: string }> {
    const body = JSON.stringify(notification);
    const headers = {
      Authorization: `Bearer ${this.#key}`,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    };
    const start = this.#isSecure ? requestSecurely : request;
    return new Promise((resolve, reject) => {
      const call = start(this.#api, { method: 'POST', agent: this.#agent, headers, signal }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
        response.once('error', reject);
        response.once('close', () => reject(new Error('the response was interrupted')));
      });
      call.once('error', reject);
      call.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
