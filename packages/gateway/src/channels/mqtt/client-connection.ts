// One MQTT connection, from CONNECT to its end. It is never opened again: mqtt.js would resend after a reconnect what has
// long been reported as failed. A caller that wants another connection opens one.
import { randomBytes } from 'node:crypto';
import { connect, type IClientOptions, type MqttClient, UniqueMessageIdProvider } from 'mqtt';
import { InFlight } from './client-in-flight.ts';
import type { MqttMessage, PublishResult } from './publisher.ts';

export type MqttVersion = 4 | 5;

export interface MqttConnection {
  readonly version: MqttVersion;
  publish(message: MqttMessage, signal: AbortSignal): Promise<PublishResult>;
  /** Subscribes with QoS 0; resolves with whether the broker allows it. Nothing else is subscribed to. */
  subscribe(topic: string, onMessage: (payload: Buffer) => void): Promise<boolean>;
  /** Sends a PINGREQ: the keep-alive detects a broker that hangs only much later. */
  ping(withinMs: number): Promise<'answered' | 'silent' | 'closed'>;
  /** Resolves when the connection is over, with the cause where there is one. */
  readonly closed: Promise<unknown>;
  /** After the connection has ended: whether a publish was waiting for its acknowledgement. */
  readonly endedWhilePublishing: boolean;
  /** Says goodbye, and hangs up if that is not heard in time. */
  close(): Promise<void>;
  destroy(): void;
}

export interface ConnectionOptions {
  client: IClientOptions;
  version: MqttVersion;
  now(): number;
  signal: AbortSignal;
  /** More bytes than this from the broker end the connection; undefined: no bound. */
  maxReceivedBytes?: number;
}

const goodbyeMs = 1000;

/** Without subscriptions a broker sends only short packets; with MQTT 5 the limit is announced. */
const maximumPacketSize = 64 * 1024;

export function newClientId(): string {
  return `tocsin_${randomBytes(8).toString('hex')}`;
}

/** Rejects with what mqtt.js or Node gave as the cause; undefined where the broker just hung up. */
export function openConnection(options: ConnectionOptions): Promise<MqttConnection> {
  const { version, signal } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const client = startClient(options);
    let cause: unknown;
    const end = (error: unknown): void => {
      cause ??= error;
      client.end(true);
    };
    const abort = (): void => end(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    client.on('error', end);
    client.on('disconnect', (packet) => end(packet.reasonCode === undefined ? undefined : { code: packet.reasonCode }));
    limitReceived(client, options.maxReceivedBytes, end);
    const closed = new Promise<unknown>((over) => {
      client.once('close', () => {
        signal.removeEventListener('abort', abort);
        reject(cause);
        over(cause);
      });
    });
    client.once('connect', () => {
      signal.removeEventListener('abort', abort);
      resolve(manage(client, version, closed, options.now));
    });
  });
}

function startClient({ client, version }: ConnectionOptions): MqttClient {
  return connect({
    ...client,
    protocolVersion: version,
    clean: true,
    reconnectPeriod: 0,
    queueQoSZero: false,
    resubscribe: false,
    messageIdProvider: new UniqueMessageIdProvider(),
    ...(version === 5 && { properties: { maximumPacketSize } }),
    // Otherwise DEBUG=mqttjs* in the environment prints packets, the one with the password among them.
    log: () => undefined,
  });
}

function limitReceived(client: MqttClient, maxBytes: number | undefined, end: (error: unknown) => void): void {
  if (maxBytes === undefined) return;
  let bytes = 0;
  client.stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) end(new Error('The broker sends too much'));
  });
}

function manage(client: MqttClient, version: MqttVersion, closed: Promise<unknown>, now: () => number): MqttConnection {
  const announced = client.serverProperties;
  const inFlight = new InFlight(announced?.receiveMaximum);
  let endedWhilePublishing = false;
  // mqtt.js fails what is in flight a moment later, or not at all.
  client.stream.once('close', () => {
    endedWhilePublishing = inFlight.size > 0;
  });
  closed.then(() => inFlight.endAll());

  return {
    version,
    closed,
    get endedWhilePublishing() {
      return endedWhilePublishing;
    },
    subscribe: (topic, onMessage) =>
      new Promise((resolve) => {
        client.on('message', (_, payload) => onMessage(payload));
        client.subscribe(topic, { qos: 0 }, (error) => resolve(error === null));
        closed.then(() => resolve(false));
      }),
    ping: (withinMs) =>
      new Promise((resolve) => {
        const end = (how: 'answered' | 'silent' | 'closed'): void => {
          clearTimeout(timer);
          client.off('packetreceive', hear).off('close', lose);
          resolve(how);
        };
        const hear = (): void => end('answered');
        const lose = (): void => end('closed');
        const timer = setTimeout(end, withinMs, 'silent');
        client.on('packetreceive', hear).on('close', lose);
        client.sendPing();
      }),
    publish: async (message, signal) => {
      if (!client.connected) return { kind: 'lost' };
      if (message.qos > (announced?.maximumQoS ?? 2)) return { kind: 'badQos' };
      if (sizeOf(message) > (announced?.maximumPacketSize ?? Number.POSITIVE_INFINITY)) return { kind: 'tooLarge' };
      return inFlight.add(message.qos, signal, (settle) => {
        const { topic, payload, qos } = message;
        const properties = version === 5 ? { properties: propertiesOf(message, now()) } : undefined;
        client.publish(topic, payload, { qos, retain: false, ...properties }, (error) => settle(resultOf(error)));
      });
    },
    close: async () => {
      const timer = setTimeout(() => client.end(true).stream.destroy(), goodbyeMs);
      client.end(false, { reasonCode: 0 });
      await closed;
      clearTimeout(timer);
    },
    destroy: () => {
      client.end(true).stream.destroy();
    },
  };
}

function propertiesOf({ expiresAt }: MqttMessage, now: number): object {
  const seconds = expiresAt === null ? null : Math.ceil((expiresAt - now) / 1000);
  return {
    contentType: 'application/json',
    ...(seconds !== null && { messageExpiryInterval: Math.min(Math.max(seconds, 1), 0xffff_ffff) }),
  };
}

/** What surrounds topic and payload: header, lengths, packet id, content type, expiry. */
const overheadBytes = 40;

function sizeOf({ topic, payload }: MqttMessage): number {
  return Buffer.byteLength(topic) + payload.length + overheadBytes;
}

function resultOf(error: Error | undefined | null): PublishResult {
  if (error === undefined || error === null) return { kind: 'taken' };
  const code = (error as { code?: unknown }).code;
  return typeof code === 'number' ? { kind: 'refused', code } : { kind: 'lost' };
}
