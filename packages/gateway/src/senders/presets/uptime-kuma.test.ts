import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, JsonValue } from '@tocsin/contract';
import { uptimeKuma } from './uptime-kuma.ts';

function read(value: JsonObject) {
  const body = { kind: 'json' as const, value: value as JsonValue, text: '', droppedFiles: [] };
  return uptimeKuma.read({ method: 'POST', path: '', query: new URLSearchParams(), headers: {}, body });
}

test('an address with a password is not the link', () => {
  const heartbeat = { monitorID: 3, status: 0, msg: 'timeout' };
  const urls = ['https://shop.example.com/', 'https://user:password@shop.example.com/'];
  const links = urls.map((url) => {
    const event = read({ heartbeat, monitor: { id: 3, name: 'Shop', url }, msg: 'x' });
    return event !== null && 'clickUrl' in event ? event.clickUrl : null;
  });
  assert.deepEqual(links, [urls[0], undefined]);
});

test('heartbeat and monitor may be JSON in a text, also damaged', () => {
  const monitor = '{"id":3,"name":"Shop"}';
  const up = read({ heartbeat: '{"monitorID":3,"status":1,"msg":"N/A"}', monitor, msg: 'x' });
  assert.partialDeepStrictEqual(up, { title: 'Shop is up', threadKey: 'monitor 3', resolved: true });
  assert.partialDeepStrictEqual(read({ heartbeat: '{', monitor, msg: 'Shop is up' }), { title: 'Shop is up' });
});
