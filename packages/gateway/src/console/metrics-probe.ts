import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import type { Probe } from './probe.ts';

/** The metrics of this process, or aggregated over several. */
export interface MetricsSource {
  readonly contentType: string;
  metrics(): Promise<string>;
}

export interface MetricsOptions {
  source: MetricsSource;
  /** null: only programs on this machine may read the metrics. */
  token: string | null;
}

/** Headers that a proxy adds. */
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'];

export function createMetricsProbe({ source, token }: MetricsOptions): Probe {
  const expected = token === null ? null : digest(`Bearer ${token}`);

  const mayRead = (request: IncomingMessage): boolean => {
    if (isFromThisMachine(request)) return true;
    return expected !== null && timingSafeEqual(expected, digest(request.headers.authorization ?? ''));
  };

  return async (request) => {
    if (mayRead(request)) return { status: 200, type: source.contentType, body: await source.metrics() };
    return {
      status: 403,
      body: {
        ok: false,
        error:
          'Metrics can be read on this machine without a proxy, or with "Authorization: Bearer" and the value of ' +
          'TOCSIN_METRICS_TOKEN. Set that variable to read them from elsewhere or through a proxy.',
      },
    };
  };
}

function isFromThisMachine({ socket, headers }: IncomingMessage): boolean {
  const address = socket.remoteAddress ?? '';
  if (!ipaddr.isValid(address) || ipaddr.process(address).range() !== 'loopback') return false;
  return proxyHeaders.every((name) => headers[name] === undefined);
}

/** Has the same length for every input, as timingSafeEqual requires. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
