// What stands between a peer's bytes and the parser, which would gather as much as a packet declares.
import type { Duplex } from 'node:stream';
import { limits } from './limits.ts';

const connect = 1;
const maxLengthBytes = 4;

/** Follows the packets in a stream of bytes by their fixed headers (MQTT 3.1.1, section 2.2). */
export class PacketGauge {
  #total = 0;
  #isSignedIn = false;
  #isHeard = false;
  #packets = 0;
  #at: 'type' | 'length' | 'body' = 'type';
  #lengthBytes = 0;
  #remaining = 0;

  signedIn(): void {
    this.#isSignedIn = true;
  }

  /** Whether anything came since this was last asked. */
  takeHeard(): boolean {
    const isHeard = this.#isHeard;
    this.#isHeard = false;
    return isHeard;
  }

  /** What is wrong with these bytes; null when they may be parsed. */
  inspect(bytes: Uint8Array): string | null {
    this.#total += bytes.length;
    this.#isHeard = true;
    if (!this.#isSignedIn && this.#total > limits.bytesBeforeSignIn) return 'too much was sent before the sign-in';
    let position = 0;
    while (position < bytes.length) {
      if (this.#at === 'body') {
        const taken = Math.min(this.#remaining, bytes.length - position);
        position += taken;
        this.#remaining -= taken;
        if (this.#remaining === 0) this.#at = 'type';
        continue;
      }
      const problem = this.#inspectHeader(bytes[position] as number);
      if (problem !== null) return problem;
      position += 1;
    }
    return null;
  }

  #inspectHeader(byte: number): string | null {
    if (this.#at === 'type') {
      if (this.#packets === 0 && byte >> 4 !== connect) return 'the first packet is not CONNECT';
      this.#packets += 1;
      this.#at = 'length';
      this.#lengthBytes = 0;
      this.#remaining = 0;
      return null;
    }
    this.#remaining += (byte & 0x7f) * 128 ** this.#lengthBytes;
    this.#lengthBytes += 1;
    if (this.#remaining > limits.packetBytes) return 'a packet is too large';
    if ((byte & 0x80) !== 0) return this.#lengthBytes === maxLengthBytes ? 'a packet has no valid length' : null;
    this.#at = this.#remaining === 0 ? 'type' : 'body';
    return null;
  }
}

/**
 * Makes `read()` give everything that is buffered, and nothing that the gauge refuses: then the stream is destroyed.
 * Since Node 26 `read()` gives one chunk of several, while aedes reads once per 'readable' and would stall.
 */
export function guardReads(stream: Duplex, gauge: PacketGauge): void {
  const readChunk = stream.read.bind(stream);
  stream.read = (size?: number | null): Buffer | null => {
    if (size !== undefined && size !== null) return readChunk(size);
    const chunks: Buffer[] = [];
    for (let chunk = readChunk(); chunk !== null; chunk = readChunk()) {
      const problem = gauge.inspect(chunk);
      if (problem !== null) {
        stream.destroy(new Error(problem));
        return null;
      }
      chunks.push(chunk);
    }
    if (chunks.length === 0) return null;
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
  };
}
