// ready → in flight: sends the messages of one queue to the connected client, within the window of unacknowledged messages.
import type { MqttQueueName, MqttQueueRepository } from '../../../usecases/ports/index.ts';
import type { ClientSocket } from './client-socket.ts';
import type { FindPayload } from './find-payload.ts';
import type { InFlightMessage, MessageStates } from './message-states.ts';
import { encodePublish, encodePubrel } from './publish-packet.ts';
import type { QueueReader } from './queue-reader.ts';
import type { QueueRemover } from './queue-remover.ts';

/** Bytes of payload that are written to the socket at a time. */
const writeBytes = 64 * 1024;

export interface QueueSenderDeps {
  name: MqttQueueName;
  topic: string;
  rows: Pick<MqttQueueRepository, 'listInFlight' | 'update'>;
  findPayload: FindPayload;
  messages: MessageStates;
  reader: QueueReader;
  remover: QueueRemover;
  /** The socket takes data again. */
  onDrain(): void;
}

export class QueueSender {
  readonly #deps: QueueSenderDeps;
  #socket: ClientSocket | null = null;
  #hasToResend = false;
  /** The messages that were in flight when the process started are in memory. */
  #isRestored: boolean;

  constructor(deps: QueueSenderDeps, hasRows: boolean) {
    this.#deps = deps;
    this.#isRestored = !hasRows;
  }

  /** The connected client. */
  get socket(): ClientSocket | null {
    return this.#socket;
  }

  get hasToResend(): boolean {
    return this.#hasToResend;
  }

  /** The client gets the messages that are in flight again, then all others. */
  attach(socket: ClientSocket): void {
    this.#socket = socket;
    this.#hasToResend = true;
  }

  detach(): void {
    const { messages, reader } = this.#deps;
    this.#socket?.close();
    this.#socket = null;
    const hasRows = reader.isBehind || messages.size > 0;
    messages.clearReady();
    if (!this.#hasSession) messages.clearInFlight();
    if (hasRows) reader.restart();
  }

  /** Writes the oldest ready messages at once. The result is null unless the store has to know message ids before. */
  send(socket: ClientSocket): Promise<void> | null {
    const { name, rows, messages } = this.#deps;
    // After UNSUBSCRIBE messages are still sent as they were queued.
    const taken = messages.takeReady(socket.qos ?? 2, writeBytes);
    // A QoS 2 message must have the same id after a restart; otherwise the client takes it for another message. A QoS 1
    // message may arrive twice anyway, so storing its id is not worth a write.
    const exactlyOnce = this.#hasSession ? taken.messages.filter(({ qos }) => qos === 2) : [];
    if (exactlyOnce.length === 0) {
      this.#write(socket, taken.messages, taken.payloads);
      return null;
    }
    return rows.update(name, exactlyOnce).then(
      () => {
        if (socket === this.#socket) this.#write(socket, taken.messages, taken.payloads);
        else this.#returnUnsent(taken.messages.filter(({ qos }) => qos !== 2));
      },
      (error) => {
        if (socket === this.#socket) this.#returnUnsent(taken.messages);
        throw error;
      },
    );
  }

  /** Sends messages that are in flight again, with their message ids and before any other message (MQTT-4.4.0-1). */
  async resend(socket: ClientSocket): Promise<void> {
    const { name, topic, findPayload, messages, remover, onDrain } = this.#deps;
    if (!this.#isRestored && this.#hasSession) await this.#restoreInFlight();
    const packets: Buffer[] = [];
    for (const { notificationId, messageId, qos, state } of messages.listInFlight()) {
      if (state === 'pubrel') {
        packets.push(encodePubrel(messageId));
        continue;
      }
      const payload = await findPayload(name.ownerId, notificationId);
      if (socket !== this.#socket) return;
      if (payload === null) {
        messages.takeInFlight(messageId);
        remover.expire(notificationId);
        continue;
      }
      packets.push(encodePublish({ topic, payload, qos, messageId, dup: true }));
    }
    if (socket !== this.#socket) return;
    this.#hasToResend = false;
    if (packets.length > 0) socket.write(packets, onDrain);
  }

  /** PUBREC. It is durable before PUBREL is sent, because the client then forgets the id. */
  async received(messageId: number): Promise<void> {
    const { name, rows, messages } = this.#deps;
    const message = messages.findInFlight(messageId);
    if (message === undefined || message.state === 'pubrel') return;
    const { notificationId } = message;
    if (this.#hasSession) await rows.update(name, [{ notificationId, messageId, state: 'pubrel' }]);
    message.state = 'pubrel';
  }

  /** Without a session, message ids do not outlive the connection. */
  get #hasSession(): boolean {
    return this.#deps.name.clientId !== '';
  }

  async #restoreInFlight(): Promise<void> {
    const { name, rows, messages } = this.#deps;
    for (const { notificationId, messageId, qos, state } of await rows.listInFlight(name)) {
      if (messageId !== null) messages.restoreInFlight({ notificationId, messageId, qos, state });
    }
    this.#isRestored = true;
  }

  #write(socket: ClientSocket, messages: readonly InFlightMessage[], payloads: readonly Buffer[]): void {
    const { topic, remover, onDrain } = this.#deps;
    const packets = messages.map(({ qos, messageId }, index) =>
      encodePublish({ topic, payload: payloads[index] as Buffer, qos, messageId, dup: false }),
    );
    // The client sends no acknowledgement for QoS 0.
    const atMostOnce = messages.filter(({ qos }) => qos === 0);
    const onWritten = (): void => {
      if (socket === this.#socket) for (const message of atMostOnce) remover.acknowledge(message);
    };
    socket.write(packets, onDrain, atMostOnce.length === 0 ? undefined : onWritten);
  }

  #returnUnsent(unsent: readonly InFlightMessage[]): void {
    this.#deps.messages.returnUnsent(unsent);
    this.#deps.reader.restart();
  }
}
