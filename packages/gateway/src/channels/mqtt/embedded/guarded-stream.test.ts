import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { guardReads, PacketGauge } from './guarded-stream.ts';
import { limits } from './limits.ts';

const connect = Buffer.of(0x10, 3, 1, 2, 3);
const ping = Buffer.of(0xc0, 0);

test('The gauge follows packets however they are cut into chunks', () => {
  const stream = Buffer.concat([connect, ping, Buffer.of(0x82, 0x80, 0x01), Buffer.alloc(128, 0xff), ping]);
  for (const size of [1, 2, 3, 7, stream.length]) {
    const gauge = new PacketGauge();
    for (let start = 0; start < stream.length; start += size) {
      assert.equal(gauge.inspect(stream.subarray(start, start + size)), null, `chunks of ${size}`);
    }
    assert.match(String(gauge.inspect(Buffer.of(0x30, 0xff, 0xff, 0x03))), /too large/, `chunks of ${size}`);
  }
});

test('The gauge passes on every byte of packets within the limit, however they are cut into chunks', () => {
  const stream = Buffer.concat([connect, ping, Buffer.of(0x82, 0x80, 0x01), Buffer.alloc(128, 0xff), ping]);
  for (let size = 1; size <= stream.length; size += 1) {
    assert.deepEqual(passedOn(new PacketGauge(), stream, size), stream, `chunks of ${size}`);
  }
});

test('A PUBLISH that is too large is cut down to the limit after the sign-in, and what follows it is whole', () => {
  const body = Buffer.from(Array.from({ length: 3 * limits.packetBytes + 7 }, (_, index) => index % 251));
  const length = [(body.length & 0x7f) | 0x80, ((body.length >> 7) & 0x7f) | 0x80, body.length >> 14];
  const stream = Buffer.concat([connect, ping, Buffer.of(0x32, ...length), body, ping, connect]);
  const cut = Buffer.concat([Buffer.of(0x32, 0x80, 0x80, 0x01), body.subarray(0, limits.packetBytes)]);
  for (const size of [1, 2, 3, 5, 8, 1000, limits.packetBytes, limits.packetBytes + 11, stream.length]) {
    const gauge = new PacketGauge();
    gauge.signedIn();
    assert.deepEqual(passedOn(gauge, stream, size), Buffer.concat([connect, ping, cut, ping, connect]), `${size}`);
  }
});

function passedOn(gauge: PacketGauge, stream: Buffer, chunkSize: number): Buffer {
  const passed: Buffer[] = [];
  for (let start = 0; start < stream.length; start += chunkSize) {
    const chunk = stream.subarray(start, start + chunkSize);
    assert.equal(
      gauge.inspect(chunk, (bytes) => passed.push(bytes)),
      null,
    );
  }
  return Buffer.concat(passed);
}

test('The gauge refuses a length by its first bytes, one without an end, and a first packet that is not CONNECT', () => {
  assert.match(String(new PacketGauge().inspect(Buffer.of(0x10, 0x80, 0x80, 0x02))), /too large/);
  assert.match(String(new PacketGauge().inspect(Buffer.of(0x10, 0x80, 0x80, 0x80, 0x80))), /no valid length/);
  assert.match(String(new PacketGauge().inspect(Buffer.of(0x30))), /not CONNECT/);
  const largest = Buffer.of(0x10, 0x80, 0x80, 0x01);
  assert.equal(limits.packetBytes, 128 * 128);
  assert.equal(new PacketGauge().inspect(largest), null);
});

test('The gauge counts all bytes until the sign-in, and from then on only packets', () => {
  const strange = new PacketGauge();
  const trusted = new PacketGauge();
  for (const gauge of [strange, trusted]) assert.equal(gauge.inspect(connect), null);
  trusted.signedIn();
  const pings = Buffer.alloc(limits.bytesBeforeSignIn, ping);
  assert.match(String(strange.inspect(pings)), /before the sign-in/);
  assert.equal(trusted.inspect(pings), null);
});

test('A guarded stream gives all that is buffered at once, and nothing once the gauge refuses', async () => {
  const stream = new Duplex({ read: () => undefined });
  guardReads(stream, new PacketGauge());
  for (const chunk of [connect, ping, ping]) stream.push(chunk);
  assert.deepEqual(stream.read(), Buffer.concat([connect, ping, ping]));
  assert.equal(stream.read(), null);
  const failed = new Promise<Error>((resolve) => stream.once('error', resolve));
  stream.push(Buffer.of(0x30, 0xff, 0xff, 0x7f));
  assert.equal(stream.read(), null);
  assert.match((await failed).message, /too large/);
  assert.ok(stream.destroyed);
});
