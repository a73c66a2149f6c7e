// Limits on the bytes that a peer sends, before the parser of aedes, which would buffer a packet of any declared length.
import type { Duplex } from 'node:stream';
import { limits } from './limits.ts';

const connect = 1;
const publish = 3;
const maxLengthBytes = 4;
/** `limits.packetBytes`, encoded as the length of a packet (MQTT 3.1.1, section 2.2.3). */
const largestLength = [0x80, 0x80, 0x01];

type Pass = (bytes: Buffer) => void;

/**
 * Follows the packets in a stream of bytes by their fixed headers (MQTT 3.1.1, section 2.2). After the sign-in, a PUBLISH
 * that is too large is truncated: messages of clients are not forwarded, and bridges and home automation that publish
 * large ones stay connected.
 */
export class PacketInspector {
  #total = 0;
  #isSignedIn = false;
  #isActive = false;
  #packets = 0;
  #at: 'type' | 'length' | 'body' | 'surplus' = 'type';
  /** The bytes of the fixed header that have arrived. */
  #header: number[] = [];
  #remaining = 0;
  /** The bytes of a truncated PUBLISH that are to be discarded. */
  #surplus = 0;

  signedIn(): void {
    this.#isSignedIn = true;
  }

  /** Whether bytes have arrived since the last call. */
  takeActivity(): boolean {
    const isActive = this.#isActive;
    this.#isActive = false;
    return isActive;
  }

  /** Hands the bytes that may be parsed to `pass`. Returns what is wrong with the bytes, or null. */
  inspect(bytes: Buffer, pass: Pass = () => undefined): string | null {
    this.#total += bytes.length;
    this.#isActive = true;
    if (!this.#isSignedIn && this.#total > limits.bytesBeforeSignIn) return 'too much was sent before the sign-in';
    let position = 0;
    /** Start of the bytes that were neither passed nor discarded. */
    let pending = 0;
    /** Start of the last header. */
    let headerAt = 0;
    let isHeaderSplit = this.#at === 'length';
    const passUntil = (end: number): void => {
      if (end > pending) pass(bytes.subarray(pending, end));
      pending = end;
    };
    while (position < bytes.length) {
      if (this.#at === 'body' || this.#at === 'surplus') {
        const taken = Math.min(this.#remaining, bytes.length - position);
        position += taken;
        if (this.#at === 'surplus') pending = position;
        this.#remaining -= taken;
        if (this.#remaining > 0) continue;
        if (this.#surplus > 0) passUntil(position);
        this.#at = this.#surplus > 0 ? 'surplus' : 'type';
        this.#remaining = this.#surplus;
        this.#surplus = 0;
        continue;
      }
      if (this.#at === 'type') {
        headerAt = position;
        isHeaderSplit = false;
      }
      const problem = this.#inspectHeader(bytes[position] as number);
      if (problem !== null) return problem;
      position += 1;
      if (this.#at === 'length') continue;
      // The header is complete. If it began in an earlier chunk, its first bytes were not passed then.
      if (this.#surplus > 0) {
        passUntil(headerAt);
        pass(Buffer.of(this.#header[0] as number, ...largestLength));
        pending = position;
      } else if (isHeaderSplit) {
        pass(Buffer.from(this.#header));
        pending = position;
      }
    }
    passUntil(this.#at === 'length' ? headerAt : position);
    return null;
  }

  #inspectHeader(byte: number): string | null {
    if (this.#at === 'type') {
      if (this.#packets === 0 && byte >> 4 !== connect) return 'the first packet is not CONNECT';
      this.#packets += 1;
      this.#at = 'length';
      this.#header = [byte];
      this.#remaining = 0;
      return null;
    }
    const digits = this.#header.push(byte) - 1;
    this.#remaining += (byte & 0x7f) * 128 ** (digits - 1);
    const isTruncated = this.#isSignedIn && (this.#header[0] as number) >> 4 === publish;
    if (this.#remaining > limits.packetBytes && !isTruncated) return 'a packet is too large';
    if ((byte & 0x80) !== 0) return digits === maxLengthBytes ? 'a packet has no valid length' : null;
    this.#surplus = Math.max(0, this.#remaining - limits.packetBytes);
    this.#remaining -= this.#surplus;
    this.#at = this.#remaining === 0 ? 'type' : 'body';
    return null;
  }
}

/**
 * Makes `read()` return everything that is buffered. Destroys the stream if the inspector finds a problem. Since Node 26,
 * `read()` returns one chunk of several, while aedes reads once per 'readable' event and would stall.
 */
export function guardReads(stream: Duplex, inspector: PacketInspector): void {
  const readChunk = stream.read.bind(stream);
  stream.read = (size?: number | null): Buffer | null => {
    if (size !== undefined && size !== null) return readChunk(size);
    const chunks: Buffer[] = [];
    for (let chunk = readChunk(); chunk !== null; chunk = readChunk()) {
      const problem = inspector.inspect(chunk, (bytes) => chunks.push(bytes));
      if (problem !== null) {
        stream.destroy(new Error(problem));
        return null;
      }
    }
    if (chunks.length === 0) return null;
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
  };
}
