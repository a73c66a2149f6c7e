import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { suite, type TestContext, test } from 'node:test';
import type { Client } from 'aedes';
import { StoreUnavailable } from '../../../usecases/ports/index.ts';
import { Connection, Connections } from './connections.ts';
import { PacketGauge } from './guarded-stream.ts';
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
      const connection = new Connection(new PassThrough(), '127.0.0.1', {} as Client, new PacketGauge());
      connections.add(connection);
      connection.gauge.inspect(connectPacket);
      const topics = topicsOf('tocsin', 'own_1', deviceId);
      connections.identify(connection, { ownerId: 'own_1', deviceId, clientId: 'x', secretDigest: '', topics });
      lastSeen.signedIn(deviceId);
      return connection;
    };
    /** As time goes by. */
    const pass = async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= limits.lastSeenMs) {
        clock.now += limits.lastSeenMs;
        t.mock.timers.tick(limits.lastSeenMs);
        await new Promise(setImmediate);
      }
    };
    return { lastSeen, connections, connect, pass, written, failures };
  }

  test('is noted at its sign-in, with all others of that second', async (t) => {
    const { connect, connections, pass, written } = start(t);
    connect('dev_1');
    connections.remove(connect('dev_2'));
    await pass(1000);
    assert.deepEqual(written, [[['dev_1', 'dev_2'], 1_001_000]]);
  });

  test('is noted once a minute while it sends something, however often that is, and not while it is silent', async (t) => {
    const { connect, pass, written } = start(t);
    const { gauge } = connect('dev_1');
    for (let second = 0; second < 120; second += 1) {
      gauge.inspect(ping);
      await pass(1000);
    }
    const minutes = [1_001_000, 1_061_000];
    assert.deepEqual(
      written.map(([, at]) => at),
      minutes,
    );
    // What it sent since it was last noted counts, and then there is nothing more.
    await pass(180_000);
    assert.deepEqual(
      written.map(([, at]) => at),
      [...minutes, 1_121_000],
    );
  });

  test('is noted also of one that comes and goes while others are being written', async (t) => {
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

  test('does not matter when the store fails, and is noted at the end', async (t) => {
    const errors = [new StoreUnavailable('locked'), new Error('broken')];
    const { lastSeen, connect, pass, written, failures } = start(t, async () => {
      const error = errors.shift();
      if (error !== undefined) throw error;
    });
    const { gauge } = connect('dev_1');
    await pass(1000);
    gauge.inspect(ping);
    await pass(60_000);
    assert.deepEqual(failures.map(String), ['Error: broken']);
    connect('dev_2');
    await lastSeen.stop();
    assert.deepEqual(written.at(-1)?.[0], ['dev_2']);
  });
});
