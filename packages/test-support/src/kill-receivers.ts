// The receivers of a run of kills: a device that reconnects after every start of the gateway, and an SMTP server that keeps running.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import mqtt, { type MqttClient } from 'mqtt';
import type { Store } from '../../gateway/src/usecases/ports/index.ts';
import { eventually } from './eventually.ts';
import type { GatewayProcess, Installation, ReadyLine } from './gateway-process.ts';
import { parseMessage } from './smtp-message.ts';
import { startSmtpServer, type TestSmtpServer } from './smtp-server.ts';

/** Covers the lease of a killed process, the poll for expired leases, and a retry. */
const recoveryMs = 90_000;

type FirstRun = NonNullable<ReadyLine['firstRun']>;

export class KillReceivers {
  /** Ids of the notifications that the device received → how often. */
  readonly received = new Map<string, number>();
  readonly #smtp: TestSmtpServer;
  readonly #firstRun: FirstRun;
  #client: MqttClient | undefined;

  private constructor(smtp: TestSmtpServer, firstRun: FirstRun) {
    this.#smtp = smtp;
    this.#firstRun = firstRun;
  }

  /** Starts the gateway for the first time, so that its owner has an address and a device. */
  static async start(t: TestContext, installation: Installation): Promise<KillReceivers> {
    const smtp = await startSmtpServer();
    t.after(() => smtp.kill());
    installation.environment.TOCSIN_SMTP_URL = `smtp://127.0.0.1:${smtp.port}`;
    installation.environment.TOCSIN_EMAIL_FROM = 'tocsin@example.com';
    const gateway = await installation.serve();
    const { firstRun } = gateway.line;
    assert.ok(firstRun);
    await installation.json('owner', 'set', firstRun.owner, '--email', 'owner@example.com', '--email-alerts', 'off');
    await gateway.stop();
    const receivers = new KillReceivers(smtp, firstRun);
    t.after(() => receivers.#client?.endAsync(true));
    return receivers;
  }

  get firstRun(): FirstRun {
    return this.#firstRun;
  }

  /** The device connects as soon as it can, which may be before or after the next kill. */
  connect({ line }: GatewayProcess): void {
    this.#client?.end(true);
    const { owner, device } = this.#firstRun;
    const client = mqtt.connect(line.mqtt as string, {
      ...{ username: device.id, password: device.mqtt.password, clientId: 'phone', clean: false, reconnectPeriod: 0 },
    });
    this.#client = client;
    // The gateway is killed while the client is connected.
    client.on('error', () => undefined);
    client.on('connect', () =>
      client.subscribe(`tocsin/${owner}/${device.id}/notifications`, { qos: 1 }, () => undefined),
    );
    client.on('message', (_, payload) => {
      const { id } = JSON.parse(payload.toString()) as { id: string };
      this.received.set(id, (this.received.get(id) ?? 0) + 1);
    });
  }

  /** Starts the gateway again and waits until everything has arrived; deliveries that are missing must be waiting or dead. */
  async settle(
    installation: Installation,
    withStore: <T>(use: (store: Store) => Promise<T>) => Promise<T>,
    acknowledged: ReadonlyMap<string, string>,
    isEmailed: (title: string) => boolean,
  ): Promise<string> {
    const gateway = await installation.serve();
    this.connect(gateway);
    const toEmail = [...acknowledged].filter(([, title]) => isEmailed(title));
    const missingEmail = (): string[] => {
      const subjects = new Set(this.#smtp.emails.map(({ raw }) => parseMessage(raw).header('Subject')));
      return toEmail.filter(([, title]) => !subjects.has(title)).map(([id]) => id);
    };
    const missing = () => ({
      device: [...acknowledged.keys()].filter((id) => !this.received.has(id)),
      email: missingEmail(),
    });
    const isNothing = ({ device, email }: ReturnType<typeof missing>): boolean => device.length + email.length === 0;
    const left = await eventually('everything has arrived', recoveryMs, missing, isNothing).catch(missing);
    await this.#client?.endAsync(true);
    await gateway.stop();
    const reported = await withStore((store) =>
      store.deliveries.list({ ownerId: this.#firstRun.owner, limit: 100_000 }),
    );
    const isReported = (channel: string) => (id: string) =>
      reported.some((each) => each.notificationId === id && each.channel === channel && each.state !== 'sent');
    assert.deepEqual(
      left.device.filter((id) => !isReported('mqtt')(id)),
      [],
      'acknowledged, and neither at the device nor waiting nor dead',
    );
    assert.deepEqual(
      left.email.filter((id) => !isReported('email')(id)),
      [],
      'acknowledged, and neither emailed nor waiting nor dead',
    );
    const twice = [...this.received.values()].filter((count) => count > 1).length;
    return (
      `device: ${acknowledged.size - left.device.length} arrived, ${left.device.length} waiting or dead, ${twice} twice; ` +
      `email: ${toEmail.length - left.email.length} of ${toEmail.length} arrived, ${this.#smtp.emails.length} emails in all`
    );
  }
}
