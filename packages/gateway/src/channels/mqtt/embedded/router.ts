// From a message to the clients of its device. A device has one topic, so no tree of topics is searched.
import type { Qos } from '@tocsin/contract';
import { StoreUnavailable } from '../../../gateway/ports.ts';
import type { MqttMessage } from '../publisher.ts';
import type { Connection, Connections } from './connections.ts';
import { limits } from './limits.ts';
import type { Payloads } from './payloads.ts';
import type { Sessions } from './sessions.ts';
import { grantedQos } from './topic-access.ts';

export class Router {
  readonly #connections: Connections;
  readonly #sessions: Sessions;
  readonly #payloads: Payloads;
  readonly #drop: (connection: Connection, reason: string) => void;

  constructor(
    connections: Connections,
    sessions: Sessions,
    payloads: Payloads,
    drop: (connection: Connection, reason: string) => void,
  ) {
    this.#connections = connections;
    this.#sessions = sessions;
    this.#payloads = payloads;
    this.#drop = drop;
  }

  /**
   * Resolves once the message is durable for every session that has subscribed to it with QoS 1 or 2, and handed to the
   * sockets of the clients that are there without a session. Where nobody has subscribed it is gone, as with any broker.
   */
  async route(message: MqttMessage, notification: NonNullable<MqttMessage['notification']>): Promise<void> {
    const { id, ownerId, deviceId } = notification;
    const due = this.#sessions.ofDevice(ownerId, deviceId).flatMap((session) => {
      const qos = lower(message.qos, session.qos);
      return qos === null || qos === 0 ? [] : [{ session, qos }];
    });
    const queued = new Set(due.map(({ session }) => session.name.clientId));
    const there = [...this.#connections.ofDevice(deviceId)].filter(({ identity }) => identity?.ownerId === ownerId);
    const isQueued = ({ client, identity }: Connection): boolean =>
      !client.clean && queued.has(identity?.clientId as string);
    // Who is there without a session is told first: a store that fails or hesitates does not keep it from them.
    for (const connection of there) if (!isQueued(connection)) this.#hand(message, connection);
    if (due.length === 0) return;
    try {
      if (notification.isStored === false) throw new StoreUnavailable('there is no row that what waits could refer to');
      this.#payloads.remember(ownerId, id, message.payload);
      await this.#sessions.enqueue(due, id);
    } catch (error) {
      // Nothing can wait, but who is there can still be told, once and without a receipt.
      for (const connection of there) if (isQueued(connection)) this.#hand({ ...message, qos: 0 }, connection);
      if (!due.every(({ session }) => session.isAttached)) throw error;
    }
  }

  #hand({ topic, payload, qos: wanted }: MqttMessage, connection: Connection): void {
    const filters = [...connection.filters].map(([filter, qos]) => ({ filter, qos }));
    const qos = lower(wanted, grantedQos(filters, topic));
    if (qos === null) return;
    if (connection.stream.writableLength > limits.unsentBytes) {
      this.#drop(connection, 'too much is waiting to be read');
      return;
    }
    connection.client.publish({ cmd: 'publish', topic, payload, qos, retain: false, dup: false }, () => undefined);
  }
}

function lower(published: Qos, granted: Qos | null): Qos | null {
  return granted === null ? null : (Math.min(published, granted) as Qos);
}
