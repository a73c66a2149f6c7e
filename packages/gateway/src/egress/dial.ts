// The one place that opens a connection to an address that a caller chose.
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { AddressPolicy } from '../core/address-policy.ts';
import { type Address, findAddresses, parseHost, type Resolve } from './addresses.ts';
import { withDeadline } from './deadline.ts';
import { EgressFailed, EgressRefused } from './errors.ts';

export interface DialOptions {
  policy: AddressPolicy;
  resolve: Resolve;
  /** Certificate authorities; undefined: those that Node knows. */
  ca: string[] | undefined;
  timeoutMs: number;
}

/** Opens a connection whose certificate matches the host; rejects only with EgressFailed or EgressRefused. */
export async function dial(
  hostText: string,
  port: number,
  { policy, resolve, ca, timeoutMs }: DialOptions,
  signal: AbortSignal,
  owner?: string,
): Promise<TLSSocket> {
  const host = parseHost(hostText);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new EgressRefused();
  return withDeadline(
    signal,
    timeoutMs,
    () => new EgressFailed(),
    async (deadline) => {
      const addresses = await findAddresses(host, policy, resolve, owner);
      if (deadline.aborted) throw new EgressFailed();
      const tcp = openTcp(addresses, port);
      // Node sends no server name for a literal address, and compares the certificate with `host`.
      const identity = host.isLiteral ? { host: host.name } : { host: host.name, servername: host.name };
      const tls = connectTls({ socket: tcp, ...identity, ALPNProtocols: ['http/1.1'], ...(ca && { ca }) });
      deadline.addEventListener('abort', () => destroy(tls, tcp), { once: true });
      return secured(tls, tcp);
    },
  );
}

/** Node tries the checked addresses in turn, and does not resolve the name again. */
function openTcp(addresses: readonly Address[], port: number): Socket {
  return connectTcp({
    host: 'checked.invalid',
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1000,
    noDelay: true,
    lookup: (_name, _options, done) => done(null, [...addresses]),
  });
}

function secured(tls: TLSSocket, tcp: Socket): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const fail = (): void => {
      destroy(tls, tcp);
      reject(new EgressFailed());
    };
    tcp.once('error', fail);
    tls.once('error', fail);
    tls.once('close', fail);
    tls.once('secureConnect', () => {
      if (!tls.authorized) return fail();
      tls.off('close', fail);
      // From here on the caller handles errors; without a listener an error would end the process.
      tls.on('error', () => destroy(tls, tcp));
      resolve(tls);
    });
  });
}

function destroy(...sockets: Socket[]): void {
  for (const socket of sockets) socket.destroy();
}
