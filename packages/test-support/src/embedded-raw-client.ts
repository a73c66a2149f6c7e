// An MQTT 3.1.1 client that does only what a test calls for: no automatic acknowledgements, no checks of the protocol.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestDevice } from './embedded-broker.ts';

export const packetType = {
  connect: 1,
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  suback: 9,
  pingreq: 12,
  pingresp: 13,
  disconnect: 14,
} as const;

type PacketName = keyof typeof packetType;

export interface RawPacket {
  type: number;
  flags: number;
  body: Buffer;
}

export interface SignInOptions {
  clientId?: string;
  username?: string | null;
  password?: string | null;
  clean?: boolean;
  will?: { topic: string; payload: string; retain: boolean };
}

const withinMs = 15_000;
/** Longer than the broker waits for anything. */
const endWithinMs = 10_000;

export class RawClient {
  readonly socket: Socket;
  /** Packets that have arrived and were not read yet. */
  readonly packets: RawPacket[] = [];
  readonly #closed: Promise<unknown>;
  #buffer = Buffer.alloc(0);
  #waiting: { isWanted(packet: RawPacket): boolean; resolve(packet: RawPacket): void }[] = [];

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    this.#closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('data', (bytes) => this.#read(bytes as Buffer));
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  /** Connects and signs in as the device; fails if the sign-in is refused. */
  static async signIn(
    port: number,
    device: Pick<TestDevice, 'id' | 'secret'>,
    options: SignInOptions = {},
  ): Promise<RawClient> {
    const client = await RawClient.open(port);
    const code = await client.connect({ username: device.id, password: device.secret, ...options });
    if (code !== 0) throw new Error(`CONNACK ${code}`);
    return client;
  }

  get isClosed(): boolean {
    return this.socket.closed;
  }

  /** Returns the return code of CONNACK. */
  async connect(options: SignInOptions): Promise<number> {
    this.send(connectPacket(options));
    return (await this.next('connack')).body[1] as number;
  }

  /** Returns the return codes of SUBACK, or 'closed'. */
  async subscribe(filters: string[], qos: 0 | 1 | 2): Promise<number[] | 'closed'> {
    this.send(subscribePacket(filters, qos));
    const answer = await Promise.race([this.next('suback'), this.#closed.then(() => null)]);
    return answer === null ? 'closed' : [...answer.body.subarray(2)];
  }

  publish(
    topic: string,
    payload: string,
    { qos = 0, retain = false, id = 7 }: { qos?: number; retain?: boolean; id?: number } = {},
  ): void {
    const idBytes = qos > 0 ? Buffer.of(id >> 8, id & 0xff) : Buffer.alloc(0);
    const flags = (qos << 1) | (retain ? 1 : 0);
    this.send(packet(packetType.publish, flags, Buffer.concat([text(topic), idBytes, Buffer.from(payload)])));
  }

  /** PUBREL, the response to PUBREC. */
  release(messageId: number): void {
    this.send(packet(packetType.pubrel, 2, Buffer.of(messageId >> 8, messageId & 0xff)));
  }

  /** PUBACK, PUBREC or PUBCOMP. */
  confirm(type: 'puback' | 'pubrec' | 'pubcomp', messageId: number): void {
    this.send(confirmation(type, messageId));
  }

  /** Resolves when the broker has processed all packets that were sent before. */
  async ping(): Promise<void> {
    this.send(pingPacket);
    await this.next('pingresp');
  }

  send(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  next(name: PacketName): Promise<RawPacket> {
    return this.nextOf([name]);
  }

  async nextOf(names: readonly PacketName[]): Promise<RawPacket> {
    const isWanted = ({ type }: RawPacket): boolean => names.some((name) => packetType[name] === type);
    const index = this.packets.findIndex(isWanted);
    if (index >= 0) return this.packets.splice(index, 1)[0] as RawPacket;
    const { promise, resolve } = Promise.withResolvers<RawPacket>();
    this.#waiting.push({ isWanted, resolve });
    return within(names.join(' or '), withinMs, promise);
  }

  /** Closes the connection without DISCONNECT. */
  async end(): Promise<void> {
    this.socket.destroy();
    await this.#closed;
  }

  /** DISCONNECT; resolves when the broker has processed it and closed the connection. */
  async disconnect(): Promise<void> {
    this.send(packet(packetType.disconnect, 0, Buffer.alloc(0)));
    await this.ended();
  }

  /** Resolves when the broker has closed the connection. */
  async ended(): Promise<void> {
    await within('the end of the connection', endWithinMs, this.#closed);
  }

  #read(bytes: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, bytes]);
    for (let taken = parse(this.#buffer); taken !== null; taken = parse(this.#buffer)) {
      this.#buffer = this.#buffer.subarray(taken.length);
      const { packet: arrived } = taken;
      const index = this.#waiting.findIndex(({ isWanted }) => isWanted(arrived));
      if (index >= 0) this.#waiting.splice(index, 1)[0]?.resolve(arrived);
      else this.packets.push(arrived);
    }
  }
}

async function within<T>(what: string, ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no ${what} within ${ms} ms`)), ms);
  });
  return Promise.race([promise, tooLate]).finally(() => clearTimeout(timer));
}

export interface Delivery {
  messageId: number | null;
  qos: number;
  dup: boolean;
  topic: string;
  payload: Buffer;
}

export function readPublish({ flags, body }: RawPacket): Delivery {
  const qos = (flags >> 1) & 3;
  const topicEnd = 2 + body.readUInt16BE(0);
  return {
    qos,
    dup: (flags & 8) !== 0,
    topic: body.toString('utf8', 2, topicEnd),
    messageId: qos > 0 ? body.readUInt16BE(topicEnd) : null,
    payload: body.subarray(topicEnd + (qos > 0 ? 2 : 0)),
  };
}

export function messageIdOf({ body }: RawPacket): number {
  return body.readUInt16BE(0);
}

export function connectPacket({ clientId = 'raw', username, password, clean = true, will }: SignInOptions): Buffer {
  const flags =
    (clean ? 2 : 0) |
    (will === undefined ? 0 : 4 | (will.retain ? 32 : 0)) |
    (typeof username === 'string' ? 128 : 0) |
    (typeof password === 'string' ? 64 : 0);
  const parts = [text('MQTT'), Buffer.of(4, flags, 0, 60), text(clientId)];
  if (will !== undefined) parts.push(text(will.topic), text(will.payload));
  if (typeof username === 'string') parts.push(text(username));
  if (typeof password === 'string') parts.push(text(password));
  return packet(packetType.connect, 0, Buffer.concat(parts));
}

export function subscribePacket(filters: readonly string[], qos: 0 | 1 | 2): Buffer {
  const wanted = filters.map((filter) => Buffer.concat([text(filter), Buffer.of(qos)]));
  return packet(packetType.subscribe, 2, Buffer.concat([Buffer.of(0, 1), ...wanted]));
}

export function confirmation(type: 'puback' | 'pubrec' | 'pubcomp', messageId: number): Buffer {
  return packet(packetType[type], 0, Buffer.of(messageId >> 8, messageId & 0xff));
}

export const pingPacket = packet(packetType.pingreq, 0, Buffer.alloc(0));

/** The first bytes of a packet that declares this length. */
export function fixedHeader(type: number, flags: number, length: number): Buffer {
  const bytes = [(type << 4) | flags];
  let rest = length;
  do {
    const digit = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest > 0 ? digit | 128 : digit);
  } while (rest > 0);
  return Buffer.from(bytes);
}

function packet(type: number, flags: number, body: Buffer): Buffer {
  return Buffer.concat([fixedHeader(type, flags, body.length), body]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.of(bytes.length >> 8, bytes.length & 0xff), bytes]);
}

/** The complete packets in a chunk of a stream. */
export function packetsOf(bytes: Buffer): RawPacket[] {
  return splitPackets(bytes).packets;
}

/** The complete packets at the beginning of `bytes`, and the bytes of an incomplete one after them. */
export function splitPackets(bytes: Buffer): { packets: RawPacket[]; rest: Buffer } {
  let rest = bytes;
  const packets: RawPacket[] = [];
  for (let taken = parse(rest); taken !== null; taken = parse(rest)) {
    packets.push(taken.packet);
    rest = rest.subarray(taken.length);
  }
  return { packets, rest };
}

function parse(buffer: Buffer): { packet: RawPacket; length: number } | null {
  let remaining = 0;
  for (let index = 1; index < Math.min(5, buffer.length); index += 1) {
    const byte = buffer[index] as number;
    remaining += (byte & 127) * 128 ** (index - 1);
    if ((byte & 128) !== 0) continue;
    const length = index + 1 + remaining;
    if (buffer.length < length) return null;
    const first = buffer[0] as number;
    return { packet: { type: first >> 4, flags: first & 15, body: buffer.subarray(index + 1, length) }, length };
  }
  return null;
}
