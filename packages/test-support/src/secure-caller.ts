// An HTTPS client that trusts one certificate authority and keeps its connections open.
import { Agent, request } from 'node:https';
import { json } from 'node:stream/consumers';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import type { ResponseBody } from './requests.ts';

export interface SecureAnswer {
  status: number;
  body: ResponseBody;
  /** Certificate of the connection of the response. */
  certificate: PeerCertificate;
  isReused: boolean;
}

export class SecureCaller {
  readonly #agent: Agent;

  constructor(ca: string) {
    this.#agent = new Agent({ ca, keepAlive: true, maxSockets: 1 });
  }

  get(url: string | URL): Promise<SecureAnswer> {
    return this.#send(url, 'GET', {});
  }

  notify({ api, key }: { api: string; key: string }, notification: object): Promise<SecureAnswer> {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    return this.#send(api, 'POST', headers, JSON.stringify(notification));
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(url: string | URL, method: string, headers: Record<string, string>, body?: string): Promise<SecureAnswer> {
    return new Promise((resolve, reject) => {
      const call = request(url, { method, agent: this.#agent, headers }, async (answer) => {
        const certificate = (answer.socket as TLSSocket).getPeerCertificate();
        const status = answer.statusCode ?? 0;
        resolve({ status, body: (await json(answer)) as ResponseBody, certificate, isReused: call.reusedSocket });
      });
      call.once('error', reject);
      call.end(body);
    });
  }
}
