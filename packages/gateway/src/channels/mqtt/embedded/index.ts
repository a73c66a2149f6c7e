// The embedded broker, for devices that need only their own notifications. It serves the clients of one process:
// several gateways need a separate broker.

import type { IncomingMessage } from 'node:http';
import type { Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { Aedes, type Client } from 'aedes';
// A dependency of aedes.
import { writeToStream } from 'mqtt-packet';
import { deviceTopic } from '../../../core/device-topics.ts';
import type { Outcome } from '../../../core/outcome.ts';
import type { Reservation } from '../../../core/reservation.ts';
import { type Store, StoreUnavailable } from '../../../usecases/ports/index.ts';
import { defaultQueueLimit, type QueueLimit } from '../config.ts';
import type { MqttMessage, MqttPublisher, Publication } from '../publisher.ts';
import { createAuthorizationHooks } from './authorization.ts';
import { Connection, Connections } from './connections.ts';
import { CredentialReader } from './credential-reader.ts';
import { createEnqueue } from './enqueue.ts';
import type { OnBrokerEvent } from './events.ts';
import { FailedSignIns } from './failed-sign-ins.ts';
import { createFindPayload } from './find-payload.ts';
import { guardReads, PacketInspector } from './guarded-stream.ts';
import { LastSeen } from './last-seen.ts';
import { LimitPolicy } from './limit-policy.ts';
import { limits } from './limits.ts';
import { createWebSocketListener, listenOnTcp } from './listeners.ts';
import { type Acknowledgements, BrokerPersistence } from './persistence.ts';
import { Queues } from './queues.ts';
import { RevocationCheck } from './revoke-connections.ts';
import { type Reserved, Router } from './router.ts';
import { Sessions, sessionId } from './sessions.ts';

export type { BrokerEvent, OnBrokerEvent } from './events.ts';

// A cache of all numbers that packets can contain, which would be built before the first packet: 16 MB, and 50 ms in which
// nothing else runs.
writeToStream.cacheNumbers = false;

export interface EmbeddedBrokerOptions {
  store: Store;
  topicPrefix: string;
  now(): number;
  onEvent?: OnBrokerEvent;
  /** The limit of each queue, and what happens to messages beyond it. */
  queueLimit?: QueueLimit;
  /** The address of a WebSocket client behind a proxy; default: the peer of the socket. */
  addressOf?(request: IncomingMessage): string;
  /** Whether a page with this Origin may open a WebSocket; default: no page may, only programs, which send no Origin. */
  isOwnPage?(request: IncomingMessage): boolean;
}

export interface EmbeddedBroker extends MqttPublisher {
  /** Listens for MQTT over TCP and returns the URL. Rejects if it cannot listen on the port. */
  listen(host: string, port: number): Promise<string>;
  /** Handles the 'upgrade' event of an HTTP server: MQTT over WebSocket at /mqtt. Calls back when the device has signed in. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, onSignedIn?: () => void): void;
  /** Ends sessions whose device was deleted or whose client has not connected for 30 days at `at`; returns how many. */
  purge(at?: number): Promise<number>;
  /** Calls back when a queue that was full has space again. */
  onRoom(listener: () => void): void;
}

export async function createEmbeddedBroker(options: EmbeddedBrokerOptions): Promise<EmbeddedBroker> {
  const { store, topicPrefix, now } = options;
  const onEvent: OnBrokerEvent = (event) => options.onEvent?.(event);
  const onFailed = (error: unknown): void => onEvent({ kind: 'failed', error });
  const connections = new Connections();
  const roomListeners: (() => void)[] = [];
  const rows = store.mqttQueues;
  const limitPolicy = new LimitPolicy({
    ...{ rows, now, onEvent },
    limit: options.queueLimit ?? defaultQueueLimit,
    onRoom: () => {
      for (const listener of roomListeners) listener();
    },
  });
  const findPayload = createFindPayload(store, onFailed);
  const queues = new Queues({ rows, findPayload, limitPolicy, topicPrefix, now, onEvent, onFailed });
  const sessions = new Sessions({ store, queues, topicPrefix, now, onFailed });
  const router = new Router({
    ...{ connections, sessions, queues, limitPolicy, drop, onFailed },
    enqueue: createEnqueue({ rows, limitPolicy }),
  });
  /** Devices that have connected at least once. */
  const connectedOnce = new Set<string>();
  const servers: Server[] = [];
  let closing: Promise<void> | null = null;

  const revocationCheck = new RevocationCheck({
    store,
    connections,
    onRevoked: (connection) => drop(connection, 'the device is no longer allowed'),
    onDeleted: (ownerId, deviceId) => sessions.deleteOfDevice(ownerId, deviceId),
    onFailed,
  });
  const lastSeen = new LastSeen({ devices: store.devices, connections, now, onFailed });

  await queues.load();
  await sessions.load();
  for (const id of await store.devices.listSeen()) connectedOnce.add(id);
  const aedes = await Aedes.createBroker({
    persistence: new BrokerPersistence(sessions, acknowledgements(), nameOf),
    connectTimeout: limits.signInMs,
    drainTimeout: limits.drainMs,
    // The limit of MQTT 3.1 does not apply: ids contain the id of the device, and authorization.ts checks their length.
    maxClientsIdLength: Number.MAX_SAFE_INTEGER,
    ...createAuthorizationHooks({
      credentials: new CredentialReader(store.devices),
      topicPrefix,
      connections,
      failedSignIns: new FailedSignIns(),
      onEvent,
      onSignedIn: (connection) => {
        connection.onSignedIn();
        report('signed_in', connection);
        if (connection.identity !== null) {
          lastSeen.signedIn(connection.identity.deviceId);
          connectedOnce.add(connection.identity.deviceId);
        }
        revocationCheck.wake();
      },
    }),
  });
  followAedes();
  const webSockets = createWebSocketListener(accept, options.isOwnPage ?? (() => false));

  function nameOf(client: Client) {
    const identity = connections.of(client)?.identity ?? null;
    if (identity === null) throw new Error('a client that has not signed in has no session');
    const { ownerId, deviceId, clientId } = identity;
    return { ownerId, deviceId, clientId };
  }

  function report(kind: 'signed_in' | 'disconnected', { identity, address }: Connection): void {
    if (identity === null) return;
    const { ownerId, deviceId, clientId } = identity;
    onEvent({ kind, ownerId, deviceId, clientId, address });
  }

  function drop(connection: Connection, reason: string): void {
    reportDropped(connection, reason);
    connection.client.close();
  }

  function reportDropped(connection: Connection, reason: string): void {
    if (connection.isDropReported) return;
    connection.isDropReported = true;
    const { address, identity } = connection;
    onEvent({ kind: 'dropped', reason, address, deviceId: identity?.deviceId ?? null });
  }

  function accept(stream: Duplex, address: string, onSignedIn: () => void): void {
    if (closing !== null || !connections.makeRoom(address)) {
      stream.on('error', () => undefined);
      stream.destroy();
      return;
    }
    const inspector = new PacketInspector();
    guardReads(stream, inspector);
    const connection = new Connection(stream, address, aedes.handle(stream), inspector, onSignedIn);
    connections.add(connection);
    stream.once('close', () => {
      connections.remove(connection);
      const session = sessionOf(connection);
      router.disconnected(connection);
      if (session !== undefined) sessions.disconnected(session);
      report('disconnected', connection);
    });
  }

  function sessionOf({ client, identity }: Connection) {
    return identity === null || client.clean ? undefined : sessions.find(sessionId(identity));
  }

  function acknowledgements(): Acknowledgements {
    return {
      async received(client, messageId) {
        const connection = connections.of(client);
        if (connection !== undefined) await router.received(connection, messageId);
      },
      completed(client, messageId) {
        const connection = connections.of(client);
        if (connection !== undefined) router.completed(connection, messageId);
      },
    };
  }

  function assignQueues(client: Client): void {
    const connection = connections.of(client);
    if (connection === undefined || connection.identity === null || connection.stream.destroyed) return;
    router.assignQueues(connection.identity.ownerId, connection.identity.deviceId);
  }

  function followAedes(): void {
    aedes.on('clientReady', (client) => {
      const connection = connections.of(client);
      if (connection !== undefined) connection.isReady = true;
      assignQueues(client);
    });
    aedes.on('subscribe', (_, client) => assignQueues(client));
    aedes.on('unsubscribe', (filters, client) => {
      for (const filter of filters) connections.of(client)?.filters.delete(filter);
      assignQueues(client);
    });
    // aedes registers a client even if it disconnected during its sign-in, and would never remove it.
    aedes.on('client', (client) => {
      if (client.closed) (aedes as unknown as { deleteClient(id: string): void }).deleteClient(client.id);
    });
    // aedes reports an error for every queued write of a closed connection; `reportDropped` reports only the first.
    const dropped = (client: Client, error: Error): void => {
      const connection = connections.of(client);
      if (connection !== undefined && error.message !== 'sign-in refused') reportDropped(connection, error.message);
    };
    aedes.on('clientError', dropped);
    aedes.on('connectionError', dropped);
    // Without a listener this event would end the process.
    (aedes as NodeJS.EventEmitter).on('error', onFailed);
  }

  function reserve(publication: Publication): Reservation | null {
    if (closing !== null) return null;
    const reserved: Reserved[] = [];
    for (const deviceId of publication.deviceIds) {
      const ofDevice = router.reserve(publication, deviceId);
      if (ofDevice === null) {
        for (const each of reserved) each.release();
        return null;
      }
      reserved.push(ofDevice);
    }
    const outcomes = publication.deviceIds.map(published);
    return {
      messages: reserved.flatMap(({ entries }) =>
        entries.map(({ queue: { name }, qos }) => ({ deviceId: name.deviceId, clientId: name.clientId, qos })),
      ),
      outcomes,
      commit(notQueued) {
        let first = 0;
        return reserved.map(({ entries, commit }, index) => {
          const offset = first;
          first += entries.length;
          const outcome = commit((each) => !notQueued.includes(offset + each));
          return outcome.kind === 'sent' ? (outcomes[index] as Outcome) : outcome;
        });
      },
      cancel() {
        for (const each of reserved) each.cancel();
      },
    };
  }

  /** The outcome of a message that is durable in a queue of the device. */
  function published(deviceId: string): Outcome {
    return { kind: connectedOnce.has(deviceId) ? 'sent' : 'queued' };
  }

  async function publish(message: MqttMessage): Promise<Outcome> {
    const { notification, topic } = message;
    if (notification === null || topic !== deviceTopic(topicPrefix, notification.ownerId, notification.deviceId)) {
      return {
        kind: 'rejected',
        reason: 'refused',
        error: 'The embedded MQTT broker serves only the topics of devices',
      };
    }
    if (closing !== null) return unavailable;
    try {
      const outcome = await router.route(message, notification);
      return outcome.kind === 'sent' ? published(notification.deviceId) : outcome;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) onFailed(error);
      return {
        kind: 'retry',
        reason: 'deferred',
        error: 'The embedded MQTT broker could not store the message for the device',
      };
    }
  }

  async function close(): Promise<void> {
    for (const server of servers) server.close();
    await Promise.all([revocationCheck.stop(), lastSeen.stop()]);
    const open = [...connections];
    await new Promise<void>((resolve) => aedes.close(resolve));
    for (const { stream } of open) stream.destroy();
    await Promise.all(open.map(({ closed }) => closed));
    await sessions.flush();
  }

  return {
    async listen(host, port) {
      const { server, url } = await listenOnTcp(host, port, accept, onFailed);
      servers.push(server);
      return url;
    },
    handleUpgrade(request, socket, head, onSignedIn = () => undefined) {
      const address = options.addressOf?.(request) ?? request.socket.remoteAddress ?? '';
      webSockets.handleUpgrade(request, socket, head, { address, onSignedIn });
    },
    reserve,
    publish: (message, signal) => untilAborted(publish(message), signal),
    check: async () => (closing === null ? null : 'The embedded MQTT broker is shutting down.'),
    purge: (at) => sessions.purge(at),
    onRoom: (listener) => roomListeners.push(listener),
    close: () => (closing ??= close()),
  };
}

const unavailable: Outcome = {
  kind: 'retry',
  reason: 'unreachable',
  error: 'The embedded MQTT broker is shutting down',
};
const tooLate: Outcome = {
  kind: 'retry',
  reason: 'deferred',
  error: 'The embedded MQTT broker did not store the message in time',
};

function untilAborted(outcome: Promise<Outcome>, signal: AbortSignal): Promise<Outcome> {
  if (signal.aborted) return Promise.resolve(tooLate);
  return new Promise((resolve) => {
    const abort = (): void => resolve(tooLate);
    signal.addEventListener('abort', abort, { once: true });
    void outcome.then((value) => {
      signal.removeEventListener('abort', abort);
      resolve(value);
    });
  });
}
