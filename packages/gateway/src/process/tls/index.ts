// TLS on the HTTP listeners, with a certificate that is renewed while they run.
import type { RequestListener, Server, ServerOptions } from 'node:http';
import { createServer, type Server as TlsServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { plainSocketOf } from '../../core/plain-socket.ts';
import { Problem } from '../../core/problem.ts';
import {
  type Certificate,
  checkCertificate,
  type PemPair,
  readCertificate,
  readPair,
  type TlsFiles,
} from './certificate.ts';

export interface Tls {
  createServer(options: ServerOptions, listener: RequestListener): Server;
  /** Takes what is in the files now, without waiting for the next look at them. */
  reload(): Promise<void>;
  close(): void;
}

export interface TlsNotices {
  onLoaded(certificate: Pick<Certificate, 'names' | 'validTo'>): void;
  /** What is in the files cannot be used; the certificate that was loaded before is. */
  onKept(problem: string): void;
}

/** A renewal is taken at the second look that finds the same files: certificate and key are replaced one after the other. */
const lookEveryMs = 2000;
const handshakeMs = 10_000;

export async function openTls(files: TlsFiles, notices: TlsNotices, everyMs = lookEveryMs): Promise<Tls> {
  const servers = new Set<TlsServer>();
  let current: Certificate;
  /** What the last look found, and what was complained about already. */
  let seen = '';
  let refused = '';
  let isLooking = false;

  const take = (pair: PemPair): void => {
    current = checkCertificate(files, pair);
    for (const server of servers) server.setSecureContext(contextOf(current));
    refused = '';
    notices.onLoaded(current);
  };

  const look = async (): Promise<void> => {
    const found = await readPair(files).catch(problemOf);
    const fingerprint = found instanceof Problem ? found.message : textOf(found);
    const isSettled = fingerprint === seen;
    seen = fingerprint;
    if (!isSettled || fingerprint === refused) return;
    if (fingerprint === textOf(current)) {
      refused = '';
      return;
    }
    try {
      if (found instanceof Problem) throw found;
      take(found);
    } catch (error) {
      refused = fingerprint;
      notices.onKept(problemOf(error).message);
    }
  };

  current = await readCertificate(files);
  seen = textOf(current);
  notices.onLoaded(current);
  const timer = setInterval(async () => {
    // A file system that hangs is asked once, not again and again.
    if (isLooking) return;
    isLooking = true;
    await look();
    isLooking = false;
  }, everyMs).unref();

  return {
    createServer(options, listener) {
      const server = createServer(
        {
          ...options,
          ...contextOf(current),
          minVersion: 'TLSv1.2',
          ALPNProtocols: ['http/1.1', 'http/1.0'],
          // A handshake has as much time as the headers that follow it.
          handshakeTimeout: options.headersTimeout ?? handshakeMs,
          // As Node's plain server has it: what becomes of a client that closes its side is decided by HTTP.
          allowHalfOpen: true,
        },
        listener,
      );
      refuseFailedHandshakes(server);
      servers.add(server);
      server.once('close', () => servers.delete(server));
      return server;
    },
    async reload() {
      try {
        take(await readPair(files));
      } catch (error) {
        notices.onKept(problemOf(error).message);
      }
    },
    close: () => clearInterval(timer),
  };
}

/**
 * Whoever speaks plain HTTP to the port, or does not get to the end of the handshake in time, is refused as broken and
 * slow requests are. Other failed handshakes have nobody who would understand an answer.
 */
function refuseFailedHandshakes(server: TlsServer): void {
  // Node's own listener hands every failed handshake to whoever answers broken requests.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    const plain = plainSocketOf(socket);
    if (plain !== undefined && refusedByServer.has(error.code)) server.emit('clientError', error, plain);
    else socket.destroy();
  });
}

const refusedByServer = new Set<string | undefined>(['ERR_SSL_HTTP_REQUEST', 'ERR_TLS_HANDSHAKE_TIMEOUT']);

function contextOf({ cert, key }: PemPair): PemPair {
  return { cert, key };
}

function textOf({ cert, key }: PemPair): string {
  return `${cert}\n${key}`;
}

function problemOf(error: unknown): Problem {
  return error instanceof Problem
    ? error
    : new Problem(`The certificate cannot be loaded: ${(error as Error).message}`);
}
