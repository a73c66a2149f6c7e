import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { suite, type TestContext, test } from 'node:test';
import type { Client } from 'aedes';
import { StoreUnavailable } from '../../../usecases/ports/index.ts';
import { Connection, Connections } from './connections.ts';
import { PacketInspector } from './guarded-stream.ts';
import { LastSeen } from './last-seen.ts';
import { limits } from './limits.ts';
import { topicsOf } from './topic-access.ts';

const connectPacket = Buffer.from([0x10, 0]);
const ping = Buffer.from([0xc0, 0]);

suite('When a device was last seen', () => {
  function start(t: TestContext, touchDevices?: (ids: readonly string[]) => Promise<void>) {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const clock = { now: 1_000_000 };
    const written: [string[], number][] = [];
    const failures: unknown[] = [];
    const connections = new Connections();
    const lastSeen = new LastSeen({
      devices: {
        touch: async (ids, at) => {
          written.push([[...ids], at]);
          await touchDevices?.(ids);
        },
      },
      connections,
      now: () => clock.now,
      onFailed: (error) => failures.push(error),
    });
    const connect = (deviceId: string): Connection => {
      const connection = new Connection(new PassThrough(), '127.0.0.1', {} as Client, new PacketInspector());
      connections.add(connection);
      connection.inspector.inspect(connectPacket);
      const topics = topicsOf('tocsin', 'own_1', deviceId);
      connections.identify(connection, { ownerId: 'own_1', deviceId, clientId: 'x', secretDigest: '', topics });
      lastSeen.signedIn(deviceId);
      return connection;
    };
    /** Advances the clock. */
    const pass = async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= limits.lastSeenMs) {
        clock.now += limits.lastSeenMs;
        t.mock.timers.tick(limits.lastSeenMs);
        await new Promise(setImmediate);
      }
    };
    return { lastSeen, connections, connect, pass, written, failures };
  }

  test('is recorded at its sign-in, in one write with all devices of that second', async (t) => {
    const { connect, connections, pass, written } = start(t);
    connect('dev_1');
    connections.remove(connect('dev_2'));
    await pass(1000);
    assert.deepEqual(written, [[['dev_1', 'dev_2'], 1_001_000]]);
  });

  test('is recorded once a minute while it sends packets, and not while it is silent', async (t) => {
    const { connect, pass, written } = start(t);
    const { inspector } = connect('dev_1');
    for (let second = 0; second < 120; second += 1) {
      inspector.inspect(ping);
      await pass(1000);
    }
    const minutes = [1_001_000, 1_061_000];
    assert.deepEqual(
      written.map(([, at]) => at),
      minutes,
    );
    // The packets since the last write count; after them it is silent.
    await pass(180_000);
    assert.deepEqual(
      written.map(([, at]) => at),
      [...minutes, 1_121_000],
    );
  });

  test('is recorded of a device that connects and disconnects during a write', async (t) => {
    const writing = Promise.withResolvers<void>();
    const { connect, connections, pass, written } = start(t, () => writing.promise);
    connections.remove(connect('dev_1'));
    await pass(1000);
    connections.remove(connect('dev_2'));
    writing.resolve();
    await new Promise(setImmediate);
    await pass(1000);
    assert.deepEqual(
      written.map(([ids]) => ids),
      [['dev_1'], ['dev_2']],
    );
  });

  test('is skipped while the store fails, and recorded when the broker stops', async (t) => {
    const errors = [new StoreUnavailable('locked'), new Error('broken')];
    const { lastSeen, connect, pass, written, failures } = start(t, async () => {
      const error = errors.shift();
      if (error !== undefined) throw error;
    });
    const { inspector } = connect('dev_1');
    await pass(1000);
    inspector.inspect(ping);
    await pass(60_000);
    assert.deepEqual(failures.map(String), ['Error: broken']);
    connect('dev_2');
    await lastSeen.stop();
    assert.deepEqual(written.at(-1)?.[0], ['dev_2']);
  });
});
