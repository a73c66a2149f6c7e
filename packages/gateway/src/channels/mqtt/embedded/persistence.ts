// The persistence interface of aedes, version 11, reduced to subscriptions and acknowledgements: there are no wills and no
// retained messages, messages of clients are not stored, and messages to clients are routed without aedes.
import { Readable } from 'node:stream';
import type { Client } from 'aedes';
import type { MqttSessionName, MqttSubscription } from '../../../usecases/ports/index.ts';
import type { Sessions } from './sessions.ts';

interface WantedSubscription {
  topic: string;
  qos: MqttSubscription['qos'];
}

type SessionClient = Pick<Client, 'id'>;

const nothing = async (): Promise<void> => undefined;
/** A stream that has ended: aedes reads one for each client that connects. */
const noStream = (): Readable => {
  const stream = new Readable();
  stream.push(null);
  return stream;
};

/** Receives the acknowledgements of clients for messages that the queues sent. */
export interface Acknowledgements {
  /** PUBREC. */
  received(client: Client, messageId: number): Promise<void>;
  /** PUBACK or PUBCOMP. */
  completed(client: Client, messageId: number): void;
}

export class BrokerPersistence {
  readonly #sessions: Sessions;
  readonly #acknowledgements: Acknowledgements;
  readonly #nameOf: (client: Client) => MqttSessionName;

  constructor(sessions: Sessions, acknowledgements: Acknowledgements, nameOf: (client: Client) => MqttSessionName) {
    this.#sessions = sessions;
    this.#acknowledgements = acknowledgements;
    this.#nameOf = nameOf;
  }

  async addSubscriptions(client: Client, wanted: readonly WantedSubscription[]): Promise<void> {
    await this.#sessions.subscribe(
      this.#nameOf(client),
      wanted.map(({ topic, qos }) => ({ filter: topic, qos })),
    );
  }

  async removeSubscriptions({ id }: SessionClient, filters: readonly string[]): Promise<void> {
    await this.#sessions.unsubscribe(id, filters);
  }

  async subscriptionsByClient({ id }: SessionClient): Promise<WantedSubscription[]> {
    const subscriptions = this.#sessions.find(id)?.listSubscriptions() ?? [];
    return subscriptions.map(({ filter, qos }) => ({ topic: filter, qos }));
  }

  /** A client connected with a clean session, so its persistent session ends (MQTT-3.1.2-6). */
  async cleanSubscriptions({ id }: SessionClient): Promise<void> {
    await this.#sessions.delete(id);
  }

  /** Called before PUBREL is sent in response to PUBREC. */
  async outgoingUpdate(client: Client, packet: { cmd: string; messageId?: number }): Promise<void> {
    if (packet.cmd === 'pubrel') await this.#acknowledgements.received(client, packet.messageId as number);
  }

  async outgoingClearMessageId(
    client: Client,
    { messageId }: { messageId?: number },
  ): Promise<{ messageId: number } | undefined> {
    if (messageId === undefined) return undefined;
    this.#acknowledgements.completed(client, messageId);
    return { messageId };
  }

  /** Empty, because the queues write to the sockets themselves, also when they send again. */
  readonly outgoingStream = noStream;
  readonly outgoingEnqueue = nothing;
  readonly outgoingEnqueueCombi = nothing;
  readonly subscriptionsByTopic = async (): Promise<never[]> => [];
  readonly countOffline = async () => ({ subsCount: 0, clientsCount: 0 });
  readonly getClientList = noStream;

  readonly storeRetained = nothing;
  readonly createRetainedStream = noStream;
  readonly createRetainedStreamCombi = noStream;

  /**
   * QoS 2 messages of clients are discarded, so nothing is stored between PUBLISH and PUBREL: aedes takes each for a
   * duplicate, and only sends PUBREC and PUBCOMP.
   */
  readonly incomingStorePacket = nothing;
  readonly incomingGetPacket = async () => ({});
  readonly incomingDelPacket = nothing;
  readonly cleanIncoming = nothing;

  readonly putWill = nothing;
  readonly getWill = nothing;
  readonly delWill = nothing;
  readonly streamWill = noStream;

  /** aedes requires an async function. */
  readonly setup = nothing;
  readonly destroy = nothing;
}
