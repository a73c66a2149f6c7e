// Routes a message to the queues and clients of its device. A device has one topic, so no topic tree is searched.
//
// Every message is stored in at least one queue until a client of the device acknowledges it: in the queue of each session,
// and in the queue of the device itself if it has no session, or if a client without a session is connected. Further
// clients without a session get a copy.
import type { Qos } from '@tocsin/contract';
import type { Outcome } from '../../../core/outcome.ts';
import type { MqttMessage, Publication } from '../publisher.ts';
import { ClientSocket } from './client-socket.ts';
import type { Connection, Connections } from './connections.ts';
import { type Enqueue, ReservedEntries } from './enqueue.ts';
import type { LimitPolicy } from './limit-policy.ts';
import type { Queue, QueueEntry } from './queue.ts';
import type { Queues } from './queues.ts';
import { type Session, type Sessions, sessionId } from './sessions.ts';
import { grantedQos } from './topic-access.ts';

export interface RouterDeps {
  connections: Connections;
  sessions: Sessions;
  queues: Queues;
  enqueue: Enqueue;
  limitPolicy: LimitPolicy;
  drop(connection: Connection, reason: string): void;
  onFailed(error: unknown): void;
}

export interface Reserved extends Pick<ReservedEntries, 'entries' | 'release' | 'cancel'> {
  commit(isStored: (index: number) => boolean): Outcome;
}

interface MessageToDevice extends Omit<Publication, 'deviceIds'> {
  deviceId: string;
}

type Target = NonNullable<MqttMessage['notification']>;

export class Router {
  readonly #deps: RouterDeps;
  readonly #sockets = new WeakMap<Connection, ClientSocket>();

  constructor(deps: RouterDeps) {
    this.#deps = deps;
  }

  /** Places in the queues of a device for a message that is stored with its notification; null if a queue is full. */
  reserve(
    { ownerId, notificationId, qos, payload }: Omit<Publication, 'deviceIds'>,
    deviceId: string,
  ): Reserved | null {
    const entries = this.#entriesFor(ownerId, deviceId, qos);
    const { limitPolicy } = this.#deps;
    const reserved = limitPolicy.hasSpace(entries) ? ReservedEntries.reserve(entries, limitPolicy) : null;
    if (reserved === null) return null;
    return {
      entries: reserved.entries,
      commit: (isStored) => {
        const outcome = reserved.commit(notificationId, payload, isStored);
        if (outcome.kind === 'sent') this.#copyToOthers({ ownerId, deviceId, notificationId, qos, payload }, entries);
        if (entries.at(-1)?.queue.isAttached === false) this.assignQueues(ownerId, deviceId);
        return outcome;
      },
      release: () => reserved.release(),
      cancel: () => reserved.cancel(),
    };
  }

  /** Resolves with `sent` once the message is durable or, if its notification could not be stored, written to a client. */
  async route({ payload, qos }: MqttMessage, { id, ownerId, deviceId, isStored }: Target): Promise<Outcome> {
    const message = { ownerId, deviceId, notificationId: id, qos, payload };
    if (isStored === false) {
      const all = this.#socketsOf(ownerId, deviceId);
      this.#copyTo(all, { ...message, qos: 0 });
      return all.length > 0 ? { kind: 'sent' } : notStored;
    }
    const entries = this.#entriesFor(ownerId, deviceId, qos);
    this.#copyToOthers(message, entries);
    try {
      const outcome = await this.#deps.enqueue(entries, id, payload);
      // The client of the queue of the device may have disconnected, or begun a session, during the write.
      if (entries.at(-1)?.queue.isAttached === false) this.assignQueues(ownerId, deviceId);
      return outcome;
    } catch (error) {
      // The store failed. Connected clients get the message now; it is retried all the same.
      const attached = this.#socketsOf(ownerId, deviceId).filter((socket) => isServedBy(entries, socket));
      this.#copyTo(attached, { ...message, qos: 0 });
      throw error;
    }
  }

  /** Attaches the queues of a device to its connected clients, and moves messages that no client would get. */
  assignQueues(ownerId: string, deviceId: string): void {
    const { queues, sessions } = this.#deps;
    const ofDevice = queues.findOfDevice(deviceId);
    const withoutQueue: ClientSocket[] = [];
    for (const connection of this.#subscribersOf(ownerId, deviceId)) {
      const socket = this.#socketOf(connection);
      if (this.#hasOwnQueue(connection)) {
        ofDevice?.detach(socket);
        this.#sessionOf(connection)?.queue.attach(socket);
      } else withoutQueue.push(socket);
    }
    // A client that acknowledges is preferred; among equals, the one that is attached already.
    const rank = (socket: ClientSocket): number =>
      Math.min(socket.qos ?? 0, 1) * 2 + (ofDevice?.isAttachedTo(socket) ? 1 : 0);
    const [best] = withoutQueue.sort((a, b) => rank(b) - rank(a));
    if (best === undefined) ofDevice?.detachAny();
    else queues.ofDevice(ownerId, deviceId).attach(best);
    if (ofDevice === undefined || ofDevice.isAttached || ofDevice.length === 0) return;
    const kept = sessions.ofDevice(ownerId, deviceId).filter(({ isKept }) => isKept);
    const successor = kept.find(({ queue }) => queue.isAttached) ?? kept[0];
    if (successor !== undefined) void queues.move(ofDevice, successor.queue).catch(this.#deps.onFailed);
  }

  /** The connection was closed. */
  disconnected(connection: Connection): void {
    const { identity } = connection;
    const socket = this.#sockets.get(connection);
    if (identity === null || socket === undefined) return;
    const { ownerId, deviceId } = identity;
    this.#sessionOf(connection)?.queue.detach(socket);
    this.#deps.queues.findOfDevice(deviceId)?.detach(socket);
    socket.close();
    this.assignQueues(ownerId, deviceId);
  }

  /** PUBACK or PUBCOMP of a client. */
  completed(connection: Connection, messageId: number): void {
    const copy = this.#sockets.get(connection)?.acknowledgedCopy(messageId);
    if (copy === undefined) for (const queue of this.#attachedQueues(connection)) queue.completed(messageId);
    else if (connection.identity !== null) {
      const { ownerId, deviceId } = connection.identity;
      this.#deps.queues.ofDevice(ownerId, deviceId).acknowledgedElsewhere(copy.notificationId, copy.qos);
    }
  }

  /** PUBREC of a client. */
  async received(connection: Connection, messageId: number): Promise<void> {
    for (const queue of this.#attachedQueues(connection)) await queue.received(messageId);
  }

  /** A client with a queue of its own gets the message from there, even if it is not attached to it yet. */
  #copyToOthers(message: MessageToDevice, entries: readonly QueueEntry[]): void {
    const sockets: ClientSocket[] = [];
    for (const connection of this.#subscribersOf(message.ownerId, message.deviceId)) {
      if (this.#hasOwnQueue(connection)) continue;
      const socket = this.#socketOf(connection);
      if (!isServedBy(entries, socket)) sockets.push(socket);
    }
    if (sockets.length > 0) this.#copyTo(sockets, message);
  }

  #copyTo(
    sockets: readonly ClientSocket[],
    { ownerId, deviceId, notificationId, qos, payload }: MessageToDevice,
  ): void {
    const ofDevice = this.#deps.queues.ofDevice(ownerId, deviceId);
    // If the queue expects no acknowledgement, the message is delivered once any client of the device has it.
    const onWritten = (): void => {
      if (qos === 0 || ofDevice.clientQos === 0) ofDevice.acknowledgedElsewhere(notificationId, 0);
    };
    for (const socket of sockets) {
      socket.writeCopy({ topic: ofDevice.topic, payload, qos, notificationId }, onWritten);
    }
  }

  #socketsOf(ownerId: string, deviceId: string): ClientSocket[] {
    return this.#subscribersOf(ownerId, deviceId).map((connection) => this.#socketOf(connection));
  }

  #attachedQueues(connection: Connection) {
    const { identity } = connection;
    const socket = this.#sockets.get(connection);
    if (identity === null || socket === undefined) return [];
    const queues = [this.#sessionOf(connection)?.queue, this.#deps.queues.findOfDevice(identity.deviceId)];
    return queues.filter((queue) => queue?.isAttachedTo(socket)) as Queue[];
  }

  #entriesFor(ownerId: string, deviceId: string, qos: Qos): QueueEntry[] {
    const { sessions, queues } = this.#deps;
    const kept = sessions.ofDevice(ownerId, deviceId).filter(({ isKept }) => isKept);
    const entries = kept.map((session) => ({ queue: session.queue, qos: Math.min(qos, session.qos ?? 0) as Qos }));
    if (entries.length > 0 && !queues.findOfDevice(deviceId)?.isAttached) return entries;
    return [...entries, { queue: queues.ofDevice(ownerId, deviceId), qos }];
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

  #socketOf(connection: Connection): ClientSocket {
    const known = this.#sockets.get(connection);
    if (known !== undefined) return known;
    const socket = new ClientSocket({
      stream: connection.stream,
      qos: () => subscribedQos(connection),
      drop: (reason) => this.#deps.drop(connection, reason),
    });
    this.#sockets.set(connection, socket);
    return socket;
  }
}

const notStored: Outcome = {
  kind: 'retry',
  reason: 'deferred',
  error: 'No client of the device is connected, and nothing can be queued',
};

function isServedBy(entries: readonly QueueEntry[], socket: ClientSocket): boolean {
  return entries.some(({ queue }) => queue.isAttachedTo(socket));
}

function subscribedQos({ filters, identity }: Connection): Qos | null {
  if (identity === null) return null;
  const subscriptions = [...filters].map(([filter, qos]) => ({ filter, qos }));
  return grantedQos(subscriptions, identity.topics.notifications);
}
