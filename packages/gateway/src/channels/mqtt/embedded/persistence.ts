// What aedes asks of a persistence, version 11 of its interface, as far as it concerns us: there are no wills and no
// retained messages, what clients publish is kept nowhere, and messages find their sessions without aedes.
import { Readable } from 'node:stream';
import type { Client } from 'aedes';
import type { MqttSessionName, MqttSubscription } from '../../../gateway/ports.ts';
import type { Sessions } from './sessions.ts';

interface WantedSubscription {
  topic: string;
  qos: MqttSubscription['qos'];
}

type SessionClient = Pick<Client, 'id'>;

const nothing = async (): Promise<void> => undefined;
const noStream = (): Readable => Readable.from([]);

export class BrokerPersistence {
  readonly #sessions: Sessions;
  readonly #nameOf: (client: Client) => MqttSessionName;

  constructor(sessions: Sessions, nameOf: (client: Client) => MqttSessionName) {
    this.#sessions = sessions;
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

  /** A clean session begins: what was kept for this client goes (MQTT-3.1.2-6). */
  async cleanSubscriptions({ id }: SessionClient): Promise<void> {
    await this.#sessions.delete(id);
  }

  outgoingStream({ id, clean }: Client): Readable {
    const session = clean ? undefined : this.#sessions.find(id);
    return Readable.from(session?.unconfirmed() ?? []);
  }

  /** Before a packet is written: a message of the pump, one that is sent again, or PUBREL in answer to PUBREC. */
  async outgoingUpdate(
    { id }: SessionClient,
    packet: { cmd: string; messageId?: number; qos?: number },
  ): Promise<void> {
    const session = this.#sessions.find(id);
    if (packet.cmd === 'pubrel') await session?.received(packet.messageId as number);
    else session?.prepare(packet);
  }

  /** PUBACK or PUBCOMP has come; aedes also asks it, without an id, for what it was told not to forward. */
  async outgoingClearMessageId(
    { id, clean }: Client,
    { messageId }: { messageId?: number },
  ): Promise<{ messageId: number } | undefined> {
    if (messageId === undefined) return undefined;
    if (!clean) this.#sessions.find(id)?.completed(messageId);
    return { messageId };
  }

  /** The pump sends only what is in the store already. */
  readonly outgoingEnqueue = nothing;
  readonly outgoingEnqueueCombi = nothing;
  readonly subscriptionsByTopic = async (): Promise<never[]> => [];
  readonly countOffline = async () => ({ subsCount: 0, clientsCount: 0 });
  readonly getClientList = noStream;

  readonly storeRetained = nothing;
  readonly createRetainedStream = noStream;
  readonly createRetainedStreamCombi = noStream;

  /**
   * What clients publish with QoS 2 goes nowhere, so there is nothing to keep between PUBLISH and PUBREL: aedes takes
   * each for a repetition, and answers with PUBREC and PUBCOMP alone.
   */
  readonly incomingStorePacket = nothing;
  readonly incomingGetPacket = async () => ({});
  readonly incomingDelPacket = nothing;
  readonly cleanIncoming = nothing;

  readonly putWill = nothing;
  readonly getWill = nothing;
  readonly delWill = nothing;
  readonly streamWill = noStream;

  /** aedes insists that this is an async function. */
  readonly setup = nothing;
  readonly destroy = nothing;
}
