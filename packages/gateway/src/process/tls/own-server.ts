// Requests from commands to the server of the same configuration.
import { request } from 'node:https';
import { json } from 'node:stream/consumers';
import { readCertificate, type TlsFiles } from './certificate.ts';

export interface OwnRequest {
  method: string;
  headers?: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

export interface OwnResponse {
  ok: boolean;
  json(): Promise<unknown>;
}

/** Compares the certificate with the file instead of the host name: it names the public host, not the local address. */
export async function askOwnServer(url: string, tls: TlsFiles | null, init: OwnRequest): Promise<OwnResponse> {
  if (tls === null) return fetch(url, init);
  const { cert } = await readCertificate(tls);
  const { method, headers, signal } = init;
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
      (response) => {
        resolve({ ok: response.statusCode === 200, json: () => json(response) });
      },
    );
    call.once('error', reject);
    call.end(init.body);
  });
}
