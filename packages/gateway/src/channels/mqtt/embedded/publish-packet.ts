// Encodes PUBLISH and PUBREL (MQTT 3.1.1, sections 3.3 and 3.6). A whole window is written at once, so packets are built
// here instead of one by one in aedes.
import type { Qos } from '@tocsin/contract';

export interface PublishPacket {
  topic: string;
  payload: Buffer;
  qos: Qos;
  /** Ignored with QoS 0. */
  messageId: number;
  dup: boolean;
}

export function encodePublish({ topic, payload, qos, messageId, dup }: PublishPacket): Buffer {
  const topicBytes = Buffer.byteLength(topic);
  const remaining = 2 + topicBytes + (qos === 0 ? 0 : 2) + payload.length;
  const lengthBytes = remaining < 0x80 ? 1 : remaining < 0x4000 ? 2 : remaining < 0x200000 ? 3 : 4;
  const packet = Buffer.allocUnsafe(1 + lengthBytes + remaining);
  packet[0] = 0x30 | (dup ? 0x08 : 0) | (qos << 1);
  let at = 1;
  for (let rest = remaining; at <= lengthBytes; at += 1, rest >>>= 7) {
    packet[at] = (rest & 0x7f) | (at < lengthBytes ? 0x80 : 0);
  }
  at = packet.writeUInt16BE(topicBytes, at);
  at += packet.write(topic, at);
  if (qos !== 0) at = packet.writeUInt16BE(messageId, at);
  payload.copy(packet, at);
  return packet;
}

export function encodePubrel(messageId: number): Buffer {
  return Buffer.of(0x62, 2, messageId >> 8, messageId & 0xff);
}
