import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { Client } from 'aedes';
import { Connection, Connections } from './connections.ts';
import { PacketInspector } from './guarded-stream.ts';
import { limits } from './limits.ts';

const address = '192.0.2.1';

function addConnections(connections: Connections, count: number): Connection[] {
  return Array.from({ length: count }, () => {
    const connection = new Connection(new PassThrough(), address, {} as Client, new PacketInspector());
    connections.add(connection);
    return connection;
  });
}

test('Devices that are signing in do not use up the connections of their address', () => {
  const connections = new Connections();
  const signingIn = addConnections(connections, limits.idlePerAddress * 2);
  for (const connection of signingIn) connections.beginSignIn(connection);
  assert.equal(connections.makeRoom(address), true);
  const [silent, ...more] = addConnections(connections, limits.idlePerAddress);
  assert.equal(connections.makeRoom(address), true);
  assert.equal(silent?.stream.destroyed, true, 'the oldest connection without CONNECT is closed for a further one');
  for (const { stream } of [...signingIn, ...more]) assert.equal(stream.destroyed, false);
});

test('At the limit of all connections, a further one replaces the oldest without CONNECT, and is refused without one', () => {
  const connections = new Connections();
  const all = addConnections(connections, limits.connections);
  const [silent, ...rest] = all;
  for (const connection of rest) connections.beginSignIn(connection);
  assert.equal(connections.makeRoom('192.0.2.2'), true);
  assert.equal(silent?.stream.destroyed, true);
  for (const connection of addConnections(connections, 1)) connections.beginSignIn(connection);
  assert.equal(connections.makeRoom('192.0.2.2'), false);
});
