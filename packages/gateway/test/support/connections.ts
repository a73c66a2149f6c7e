import { Agent, request } from 'node:http';

/** A caller with a fixed number of connections that are kept open, and closed all at once; or with a new one per request. */
export class Connections {
  readonly #api: string;
  readonly #key: string;
  readonly #agent: Agent;

  constructor({ api, key }: { api: string; key: string }, count: number, keepAlive = true) {
    this.#api = api;
    this.#key = key;
    this.#agent = new Agent({ keepAlive, maxSockets: count });
  }

  /** Resolves only when the whole answer is there. */
  notify(notification: object, signal?: AbortSignal): Promise<{ status: number; text: string }> {
    const body = JSON.stringify(notification);
    const headers = {
      Authorization: `Bearer ${this.#key}`,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    };
    return new Promise((resolve, reject) => {
      const call = request(this.#api, { method: 'POST', agent: this.#agent, headers, signal }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
        response.once('error', reject);
        response.once('close', () => reject(new Error('the answer was cut off')));
      });
      call.once('error', reject);
      call.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
