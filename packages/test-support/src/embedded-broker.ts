// The embedded broker in this process, on a real store and a real port, with owners and devices to send to.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Qos } from '@tocsin/contract';
import { defaultQueueLimit, type QueueLimit } from '../../gateway/src/channels/mqtt/config.ts';
import {
  type BrokerEvent,
  createEmbeddedBroker,
  type EmbeddedBroker,
} from '../../gateway/src/channels/mqtt/embedded/index.ts';
import { messageOf } from '../../gateway/src/channels/mqtt/format.ts';
import { acknowledgementTopic, deviceTopic } from '../../gateway/src/core/device-topics.ts';
import { digestOf } from '../../gateway/src/core/key-format.ts';
import { isAccepted, type Outcome } from '../../gateway/src/core/outcome.ts';
import { createUuidV7Source } from '../../gateway/src/core/uuid-v7.ts';
import { openStore } from '../../gateway/src/store/open-store.ts';
import type { Notification, Store } from '../../gateway/src/usecases/ports/index.ts';
import { plainOwner } from './plain-owner.ts';
import { sampleContent } from './sample-content.ts';

export const topicPrefix = 'tocsin';

export interface TestDevice {
  ownerId: string;
  id: string;
  secret: string;
  topic: string;
  ackTopic: string;
}

export class BrokerFixture {
  readonly dataDir: string;
  readonly events: BrokerEvent[] = [];
  readonly clock = { now: Date.now() };
  store!: Store;
  broker!: EmbeddedBroker;
  /** mqtt://127.0.0.1:port */
  url!: string;
  #http: Server | undefined;
  #newId = createUuidV7Source(() => this.clock.now, randomUUID);

  readonly #queueLimit: QueueLimit;

  private constructor(dataDir: string, queueLimit: QueueLimit) {
    this.dataDir = dataDir;
    this.#queueLimit = queueLimit;
  }

  static async start(t: TestContext, queueLimit = defaultQueueLimit): Promise<BrokerFixture> {
    const fixture = new BrokerFixture(await mkdtemp(join(tmpdir(), 'tocsin-test-')), queueLimit);
    await fixture.#open();
    t.after(async () => {
      await fixture.#close();
      await rm(fixture.dataDir, { recursive: true, force: true });
    });
    return fixture;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Broker and store, closed and opened again, as when the service is restarted. */
  async restart(): Promise<void> {
    await this.#close();
    await this.#open();
  }

  /** An HTTP server whose upgrades go to the broker; ws://127.0.0.1:port */
  async listenForWebSockets(): Promise<string> {
    this.#http = createServer((_, response) => response.end());
    this.#http.on('upgrade', (request, socket, head) => this.broker.handleUpgrade(request, socket, head));
    this.#http.listen(0, '127.0.0.1');
    await once(this.#http, 'listening');
    return `ws://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  async addOwner(id = `own_${randomUUID().slice(0, 8)}`): Promise<string> {
    await this.store.owners.create(plainOwner(id, this.clock.now));
    return id;
  }

  async addDevice(ownerId?: string): Promise<TestDevice> {
    const owner = ownerId ?? (await this.addOwner());
    const id = `dev_${randomUUID().slice(0, 8)}`;
    const secret = `secret-of-${id}`;
    await this.store.devices.create(
      { id, ownerId: owner, name: 'Phone', state: 'active', paused: false, createdAt: this.clock.now, seenAt: null },
      digestOf(secret),
    );
    const topics = [topicPrefix, owner, id] as const;
    return { ownerId: owner, id, secret, topic: deviceTopic(...topics), ackTopic: acknowledgementTopic(...topics) };
  }

  async changePassword(deviceId: string, password: string): Promise<void> {
    await this.store.devices.changeSecret(deviceId, digestOf(password));
  }

  /** Stores a notification, publishes it to one device, and returns its id. */
  async notify(device: TestDevice, title: string, qos: Qos): Promise<string> {
    const { id, outcome } = await this.tryNotify(device, title, qos);
    if (!isAccepted(outcome)) throw new Error(`not sent: ${JSON.stringify(outcome)}`);
    return id;
  }

  /** As notify, whatever the outcome. */
  async tryNotify(device: TestDevice, title: string, qos: Qos): Promise<{ id: string; outcome: Outcome }> {
    const notification: Notification = {
      id: this.#newId(),
      ownerId: device.ownerId,
      createdAt: this.clock.now,
      content: sampleContent({ title, body: 'Body' }),
    };
    await this.store.notifications.save(notification);
    return { id: notification.id, outcome: await this.publish(device, notification, qos) };
  }

  publish(device: TestDevice, notification: Notification, qos: Qos, signal = AbortSignal.timeout(5000)) {
    return this.broker.publish(
      {
        topic: device.topic,
        payload: messageOf(notification),
        qos,
        expiresAt: null,
        notification: { id: notification.id, ownerId: device.ownerId, deviceId: device.id },
      },
      signal,
    );
  }

  async #open(): Promise<void> {
    this.store = await openStore({ dataDir: this.dataDir, masterKey: null }, 'create');
    this.broker = await createEmbeddedBroker({
      store: this.store,
      topicPrefix,
      queueLimit: this.#queueLimit,
      now: () => this.clock.now,
      onEvent: (event) => this.events.push(event),
    });
    this.url = await this.broker.listen('127.0.0.1', 0);
  }

  async #close(): Promise<void> {
    await this.broker.close();
    this.#http?.closeAllConnections();
    this.#http?.close();
    await this.store.close();
  }
}

/** The title in a message as it came over MQTT. */
export function titleOf(payload: Buffer | string): string {
  return (JSON.parse(payload.toString()) as { title: string }).title;
}
