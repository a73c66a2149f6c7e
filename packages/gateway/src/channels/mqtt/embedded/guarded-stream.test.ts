import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { guardReads, PacketInspector } from './guarded-stream.ts';
import { limits } from './limits.ts';

const connect = Buffer.of(0x10, 3, 1, 2, 3);
const ping = Buffer.of(0xc0, 0);

test('The inspector follows packets however they are split into chunks', () => {
  const stream = Buffer.concat([connect, ping, Buffer.of(0x82, 0x80, 0x01), Buffer.alloc(128, 0xff), ping]);
  for (const size of [1, 2, 3, 7, stream.length]) {
    const inspector = new PacketInspector();
    for (let start = 0; start < stream.length; start += size) {
      assert.equal(inspector.inspect(stream.subarray(start, start + size)), null, `chunks of ${size}`);
    }
    assert.match(String(inspector.inspect(Buffer.of(0x30, 0xff, 0xff, 0x03))), /too large/, `chunks of ${size}`);
  }
});

test('The inspector passes every byte of packets within the limit, however they are split into chunks', () => {
  const stream = Buffer.concat([connect, ping, Buffer.of(0x82, 0x80, 0x01), Buffer.alloc(128, 0xff), ping]);
  for (let size = 1; size <= stream.length; size += 1) {
    assert.deepEqual(passedBytes(new PacketInspector(), stream, size), stream, `chunks of ${size}`);
  }
});

test('After the sign-in a PUBLISH that is too large is truncated, and the packets after it are complete', () => {
  const body = Buffer.from(Array.from({ length: 3 * limits.packetBytes + 7 }, (_, index) => index % 251));
  const length = [(body.length & 0x7f) | 0x80, ((body.length >> 7) & 0x7f) | 0x80, body.length >> 14];
  const stream = Buffer.concat([connect, ping, Buffer.of(0x32, ...length), body, ping, connect]);
  const truncated = Buffer.concat([Buffer.of(0x32, 0x80, 0x80, 0x01), body.subarray(0, limits.packetBytes)]);
  for (const size of [1, 2, 3, 5, 8, 1000, limits.packetBytes, limits.packetBytes + 11, stream.length]) {
    const inspector = new PacketInspector();
    inspector.signedIn();
    assert.deepEqual(
      passedBytes(inspector, stream, size),
      Buffer.concat([connect, ping, truncated, ping, connect]),
      `${size}`,
    );
  }
});

function passedBytes(inspector: PacketInspector, stream: Buffer, chunkSize: number): Buffer {
  const passed: Buffer[] = [];
  for (let start = 0; start < stream.length; start += chunkSize) {
    const chunk = stream.subarray(start, start + chunkSize);
    assert.equal(
      inspector.inspect(chunk, (bytes) => passed.push(bytes)),
      null,
    );
  }
  return Buffer.concat(passed);
}

test('The inspector refuses a length above the limit, a length without an end, and a first packet other than CONNECT', () => {
  assert.match(String(new PacketInspector().inspect(Buffer.of(0x10, 0x80, 0x80, 0x02))), /too large/);
  assert.match(String(new PacketInspector().inspect(Buffer.of(0x10, 0x80, 0x80, 0x80, 0x80))), /no valid length/);
  assert.match(String(new PacketInspector().inspect(Buffer.of(0x30))), /not CONNECT/);
  const largest = Buffer.of(0x10, 0x80, 0x80, 0x01);
  assert.equal(limits.packetBytes, 128 * 128);
  assert.equal(new PacketInspector().inspect(largest), null);
});

test('The inspector limits all bytes until the sign-in, and only the size of packets after it', () => {
  const unauthenticated = new PacketInspector();
  const signedIn = new PacketInspector();
  for (const inspector of [unauthenticated, signedIn]) assert.equal(inspector.inspect(connect), null);
  signedIn.signedIn();
  const pings = Buffer.alloc(limits.bytesBeforeSignIn, ping);
  assert.match(String(unauthenticated.inspect(pings)), /before the sign-in/);
  assert.equal(signedIn.inspect(pings), null);
});

test('A guarded stream returns everything buffered in one read, and is destroyed when the inspector refuses', async () => {
  const stream = new Duplex({ read: () => undefined });
  guardReads(stream, new PacketInspector());
  for (const chunk of [connect, ping, ping]) stream.push(chunk);
  assert.deepEqual(stream.read(), Buffer.concat([connect, ping, ping]));
  assert.equal(stream.read(), null);
  const failed = new Promise<Error>((resolve) => stream.once('error', resolve));
  stream.push(Buffer.of(0x30, 0xff, 0xff, 0x7f));
  assert.equal(stream.read(), null);
  assert.match((await failed).message, /too large/);
  assert.ok(stream.destroyed);
});
