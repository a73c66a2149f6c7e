// A local push service that replaces the one of the browser vendor. It uses HTTPS, which the gateway requires.
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { WebPushStandIn } from '@tocsin/test-support/push-web-push-stand-in.ts';
import { createTestAuthority } from '@tocsin/test-support/tls-ca.ts';

export interface PushService {
  /** Settings with which the gateway may send to this push service and trusts its certificate. */
  environment: Record<string, string>;
  /** Creates a subscription for this application server key; received messages are decrypted. */
  subscribe(applicationServerKey: string): { subscription: unknown; received: WebPushStandIn['received'] };
  stop(): void;
}

export async function startPushService(): Promise<PushService> {
  const authority = createTestAuthority();
  const { key, cert } = authority.issue('DNS:localhost');
  let standIn: WebPushStandIn | null = null;
  const server = createServer({ key, cert }, async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
    const headers = request.headers as Record<string, string>;
    const url = new URL(`https://${headers.host}${request.url}`);
    const reply = await standIn?.dial(url, { headers, body }, AbortSignal.timeout(5000));
    response.writeHead(reply?.status ?? 410).end();
  }).listen(0, 'localhost');
  await once(server, 'listening');
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  return {
    environment: {
      TOCSIN_WEBPUSH_HOSTS: host,
      // Loopback addresses are rejected by default.
      TOCSIN_MQTT_CUSTOM_ALLOW: '127.0.0.1/32,::1/128',
      NODE_EXTRA_CA_CERTS: authority.caFile,
    },
    subscribe(applicationServerKey) {
      standIn = new WebPushStandIn(
        {
          get now() {
            return Date.now();
          },
        },
        applicationServerKey,
      );
      return { subscription: JSON.parse(standIn.subscribe(`https://${host}`)), received: standIn.received };
    },
    stop() {
      server.closeAllConnections();
      server.close();
      authority.remove();
    },
  };
}
