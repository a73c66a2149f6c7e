// Commands that ask the server of their own configuration.
import { request } from 'node:https';
import { json } from 'node:stream/consumers';
import { readCertificate, type TlsFiles } from './certificate.ts';

export interface OwnRequest {
  method: string;
  headers?: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

export interface OwnAnswer {
  ok: boolean;
  json(): Promise<unknown>;
}

/** Its certificate names the host that others know it by, so the one it shows is held against the file instead. */
export async function askOwnServer(url: string, tls: TlsFiles | null, asked: OwnRequest): Promise<OwnAnswer> {
  if (tls === null) return fetch(url, asked);
  const { cert } = await readCertificate(tls);
  const { method, headers, signal } = asked;
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      {
        method,
        signal,
        ...(headers !== undefined && { headers }),
        ca: cert,
        allowPartialTrustChain: true,
        checkServerIdentity: () => undefined,
        agent: false,
      },
      (answer) => {
        resolve({ ok: answer.statusCode === 200, json: () => json(answer) });
      },
    );
    call.once('error', reject);
    call.end(asked.body);
  });
}
