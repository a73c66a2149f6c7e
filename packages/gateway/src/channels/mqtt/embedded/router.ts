// From a message to the clients of its device. A device has one topic, so no tree of topics is searched.
//
// Every message waits in at least one queue until a client of the device acknowledges it: in that of each session, and in
// that of the device itself where no client keeps a session, or where one without a session is connected.
import type { Qos } from '@tocsin/contract';
import type { Outcome } from '../../../core/outcome.ts';
import type { MqttMessage } from '../publisher.ts';
import type { Connection, Connections } from './connections.ts';
import type { Enqueue } from './enqueue.ts';
import { Outlet } from './outlet.ts';
import type { QueueEntry } from './queue.ts';
import type { Queues } from './queues.ts';
import { type Session, type Sessions, sessionId } from './sessions.ts';
import { grantedQos } from './topic-access.ts';

export interface RouterDeps {
  connections: Connections;
  sessions: Sessions;
  queues: Queues;
  enqueue: Enqueue;
  drop(connection: Connection, reason: string): void;
  onFailed(error: unknown): void;
}

type Target = NonNullable<MqttMessage['notification']>;

export class Router {
  readonly #deps: RouterDeps;
  readonly #outlets = new WeakMap<Connection, Outlet>();

  constructor(deps: RouterDeps) {
    this.#deps = deps;
  }

  /** Resolves with `sent` once the message is durable, or, where it cannot be, in the socket of a client. */
  async route({ topic, payload, qos }: MqttMessage, { id, ownerId, deviceId, isStored }: Target): Promise<Outcome> {
    const connected = this.#subscribersOf(ownerId, deviceId);
    const ofDevice = this.#deps.queues.ofDevice(ownerId, deviceId);
    // Where the queue expects no acknowledgement, it is enough that another client of the device has got the message.
    const onWritten = (): void => {
      if (qos === 0 || ofDevice.clientQos === 0) ofDevice.acknowledgedElsewhere(id, 0);
    };
    const copyTo = (outlets: Iterable<Outlet>, atMost: Qos): void => {
      for (const outlet of outlets) {
        outlet.writeCopy({ topic, payload, qos: atMost, notificationId: id }, onWritten);
      }
    };
    const all = connected.map((connection) => this.#outletOf(connection));
    if (isStored === false) {
      copyTo(all, 0);
      return all.length > 0 ? { kind: 'sent' } : notStored;
    }
    const due = this.#queuesOf(ownerId, deviceId, qos);
    const isServed = (outlet: Outlet): boolean => due.some(({ queue }) => queue.isAttachedTo(outlet));
    // A client with a queue of its own gets the message from there, even if it is not attached to it yet.
    const others = connected.filter((connection) => !this.#hasOwnQueue(connection)).map((each) => this.#outletOf(each));
    copyTo(
      others.filter((outlet) => !isServed(outlet)),
      qos,
    );
    try {
      const outcome = await this.#deps.enqueue(due, id, payload);
      // The client for which the queue of the device was chosen may be gone, or have got one of its own.
      if (due.at(-1)?.queue.isAttached === false) this.settle(ownerId, deviceId);
      return outcome;
    } catch (error) {
      // Nothing can be queued now, but clients that are connected can have it at once. It is retried all the same.
      copyTo(all.filter(isServed), 0);
      throw error;
    }
  }

  /** Connects the queues of a device with the clients that are there, and moves what no client would get. */
  settle(ownerId: string, deviceId: string): void {
    const { queues, sessions } = this.#deps;
    const ofDevice = queues.ofDevice(ownerId, deviceId);
    const withoutQueue: Outlet[] = [];
    for (const connection of this.#subscribersOf(ownerId, deviceId)) {
      const outlet = this.#outletOf(connection);
      if (this.#hasOwnQueue(connection)) {
        ofDevice.detach(outlet);
        this.#sessionOf(connection)?.queue.attach(outlet);
      } else withoutQueue.push(outlet);
    }
    // A client that acknowledges is better than one that does not; among equals the one that was there first stays.
    const rank = (outlet: Outlet): number => Math.min(outlet.qos ?? 0, 1) * 2 + (ofDevice.isAttachedTo(outlet) ? 1 : 0);
    const [best] = withoutQueue.sort((a, b) => rank(b) - rank(a));
    if (best === undefined) ofDevice.detachAny();
    else ofDevice.attach(best);
    if (ofDevice.isAttached || ofDevice.length === 0) return;
    const kept = sessions.ofDevice(ownerId, deviceId).filter(({ isKept }) => isKept);
    const heir = kept.find(({ queue }) => queue.isAttached) ?? kept[0];
    if (heir !== undefined) void queues.move(ofDevice, heir.queue).catch(this.#deps.onFailed);
  }

  /** The connection has ended. */
  disconnected(connection: Connection): void {
    const { identity } = connection;
    const outlet = this.#outlets.get(connection);
    if (identity === null || outlet === undefined) return;
    const { ownerId, deviceId } = identity;
    this.#sessionOf(connection)?.queue.detach(outlet);
    this.#deps.queues.ofDevice(ownerId, deviceId).detach(outlet);
    outlet.close();
    this.settle(ownerId, deviceId);
  }

  /** PUBACK or PUBCOMP of a client. */
  completed(connection: Connection, messageId: number): void {
    const copy = this.#outlets.get(connection)?.acknowledgedCopy(messageId);
    if (copy === undefined) for (const queue of this.#queuesAt(connection)) queue.completed(messageId);
    else if (connection.identity !== null) {
      const { ownerId, deviceId } = connection.identity;
      this.#deps.queues.ofDevice(ownerId, deviceId).acknowledgedElsewhere(copy.notificationId, copy.qos);
    }
  }

  /** PUBREC of a client that keeps a session. */
  async received(connection: Connection, messageId: number): Promise<void> {
    for (const queue of this.#queuesAt(connection)) await queue.received(messageId);
  }

  #queuesAt(connection: Connection) {
    const { identity } = connection;
    const outlet = this.#outlets.get(connection);
    if (identity === null || outlet === undefined) return [];
    const { ownerId, deviceId } = identity;
    const own = this.#sessionOf(connection)?.queue;
    const queues = [...(own === undefined ? [] : [own]), this.#deps.queues.ofDevice(ownerId, deviceId)];
    return queues.filter((queue) => queue.isAttachedTo(outlet));
  }

  #queuesOf(ownerId: string, deviceId: string, qos: Qos): QueueEntry[] {
    const { sessions, queues } = this.#deps;
    const kept = sessions.ofDevice(ownerId, deviceId).filter(({ isKept }) => isKept);
    const due = kept.map((session) => ({ queue: session.queue, qos: Math.min(qos, session.qos ?? 0) as Qos }));
    const ofDevice = queues.ofDevice(ownerId, deviceId);
    return due.length === 0 || ofDevice.isAttached ? [...due, { queue: ofDevice, qos }] : due;
  }

  #subscribersOf(ownerId: string, deviceId: string): Connection[] {
    return [...this.#deps.connections.ofDevice(deviceId)].filter(
      (connection) =>
        connection.identity?.ownerId === ownerId && connection.isReady && subscribedQos(connection) !== null,
    );
  }

  #hasOwnQueue(connection: Connection): boolean {
    return this.#sessionOf(connection)?.isKept === true;
  }

  #sessionOf({ client, identity }: Connection): Session | undefined {
    return identity === null || client.clean ? undefined : this.#deps.sessions.find(sessionId(identity));
  }

  #outletOf(connection: Connection): Outlet {
    const known = this.#outlets.get(connection);
    if (known !== undefined) return known;
    const outlet = new Outlet({
      stream: connection.stream,
      qos: () => subscribedQos(connection),
      drop: (reason) => this.#deps.drop(connection, reason),
    });
    this.#outlets.set(connection, outlet);
    return outlet;
  }
}

const notStored: Outcome = {
  kind: 'retry',
  reason: 'deferred',
  error: 'No client of the device is connected, and nothing can be queued',
};

function subscribedQos({ filters, identity }: Connection): Qos | null {
  if (identity === null) return null;
  const subscriptions = [...filters].map(([filter, qos]) => ({ filter, qos }));
  return grantedQos(subscriptions, identity.topics.notifications);
}
