// A broker that a request brought: one connection for the request, closed after it. The credentials are not stored, so
// nothing is retried.
import type { TLSSocket } from 'node:tls';
import type { CustomBroker } from '@tocsin/contract';
import type { NotSent, Outcome } from '../../core/outcome.ts';
import type { Egress } from '../../egress/index.ts';
import type { MqttConnection, MqttVersion } from './client-connection.ts';
import { allVersions, openWithVersion } from './client-version.ts';
import type { MqttMessage } from './publisher.ts';

export interface CustomPublisher {
  /** One outcome per message, in order; never rejects. Once the signal aborts it settles at once. */
  publish(
    broker: CustomBroker,
    messages: readonly MqttMessage[],
    signal: AbortSignal,
    ownerId?: string,
  ): Promise<Outcome[]>;
}

/** One sentence for every cause, or the gateway would reveal which ports are open in its network. */
export const notReached: NotSent = {
  kind: 'rejected',
  reason: 'refused',
  error: 'Custom MQTT broker could not be reached',
};
const refused: NotSent = { kind: 'rejected', reason: 'refused', error: 'Custom MQTT broker refused the message' };

const maxFrameBytes = 64 * 1024;
/** A broker that only receives messages sends a few bytes for each. */
const maxReceivedBytes = 256 * 1024;

export function createCustomPublisher(openEgress: () => Promise<Egress>, { now }: { now(): number }): CustomPublisher {
  return {
    async publish(broker, messages, signal, ownerId) {
      try {
        const egress = await openEgress();
        const connect = (): Promise<TLSSocket> => egress.connect(broker.host, broker.port, signal, ownerId);
        const connection = await openWithVersion(allVersions, (version) => open(connect, broker, version, now, signal));
        const outcomes = await Promise.all(messages.map((message) => publishOne(connection, message, signal)));
        // The response does not wait for the DISCONNECT, which has a deadline of its own.
        connection.close();
        return outcomes;
      } catch {
        return messages.map(() => notReached);
      }
    },
  };
}

async function publishOne(connection: MqttConnection, message: MqttMessage, signal: AbortSignal): Promise<Outcome> {
  const { kind } = await connection.publish(message, signal);
  if (kind === 'taken') return { kind: 'sent' };
  return kind === 'lost' || kind === 'late' ? notReached : refused;
}

async function open(
  connect: () => Promise<TLSSocket>,
  { host, port, path, username, password, clientId }: CustomBroker,
  version: MqttVersion,
  now: () => number,
  signal: AbortSignal,
): Promise<MqttConnection> {
  // Loaded with the first broker that a caller brings: most installations never see one.
  const { newClientId, openConnection } = await import('./client-connection.ts');
  const socket = await connect();
  try {
    return await openConnection({
      version,
      now,
      signal,
      maxReceivedBytes,
      client: {
        protocol: 'wss',
        hostname: host,
        port,
        path,
        clientId: clientId ?? newClientId(),
        ...(username !== null && { username }),
        ...(password !== null && { password }),
        // Otherwise mqtt.js takes one from the environment.
        socksProxy: '',
        wsOptions: {
          createConnection: () => socket,
          followRedirects: false,
          perMessageDeflate: false,
          // Pongs that a hostile server never reads would accumulate here.
          autoPong: false,
          maxPayload: maxFrameBytes,
        },
      },
    });
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
