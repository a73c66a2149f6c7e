// The log during an attack: one line per kind and address, and counts.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';

async function serve(t: TestContext, environment: Record<string, string> = {}): Promise<GatewayProcess> {
  const installation = await install(t, environment);
  return installation.serve();
}

interface Line {
  msg: string;
  code?: string;
  address?: string;
  count?: number;
}

const linesOf = ({ log }: GatewayProcess): Line[] =>
  log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

async function refuse({ api }: GatewayProcess, times: number, headers: Record<string, string> = {}): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const { status } = await fetch(api, { method: 'POST', headers, body: '{"title":"x"}' });
    assert.equal(status, 401);
  }
}

test('Refused requests are one line per kind and address, and a count of the others', async (t) => {
  const gateway = await serve(t);
  await refuse(gateway, 200);
  await refuse(gateway, 50, { 'X-API-Key': 'svc_unknown' });
  await gateway.stop();
  const about = linesOf(gateway).filter(({ code }) => code !== undefined);
  assert.deepEqual(
    about.map(({ msg, code, address, count }) => ({ msg, code, address, count })),
    [
      { msg: 'answered', code: 'authorization_required', address: '127.0.0.1', count: undefined },
      { msg: 'answered', code: 'invalid_api_key', address: '127.0.0.1', count: undefined },
      { msg: 'refused more', code: 'authorization_required', address: '127.0.0.1', count: 199 },
      { msg: 'refused more', code: 'invalid_api_key', address: '127.0.0.1', count: 49 },
    ],
  );
});

test('Many addresses do not produce many lines', async (t) => {
  const gateway = await serve(t, { TOCSIN_TRUSTED_PROXIES: '127.0.0.1' });
  for (let last = 0; last < 300; last += 1)
    await refuse(gateway, 1, { 'X-Forwarded-For': `198.51.${last >> 8}.${last & 255}` });
  await gateway.stop();
  const about = linesOf(gateway).filter(({ code }) => code !== undefined);
  assert.equal(about.length, 201);
  assert.deepEqual([about.at(-1)?.address, about.at(-1)?.count], ['other addresses', 100]);
});

test('At level debug every refused request has its own line', async (t) => {
  const gateway = await serve(t, { TOCSIN_LOG_LEVEL: 'debug' });
  await refuse(gateway, 20);
  await gateway.stop();
  assert.equal(linesOf(gateway).filter(({ code }) => code === 'authorization_required').length, 20);
});

test('A server that runs out of file descriptors logs it once, and serves again when some are free', async (t) => {
  const installation = await install(t);
  const gateway = await installation.serve({}, ['sh', '-c', 'ulimit -n 100; exec "$0" "$@"']);
  const { hostname, port } = new URL(gateway.api);
  const sockets = new Set<Socket>();
  /** On a busy machine some are closed for inactivity before the last is open. */
  const keepOpen = (): void => {
    while (sockets.size < 150) {
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      sockets.add(socket.once('close', () => sockets.delete(socket)));
    }
  };
  t.after(() => [...sockets].map((socket) => socket.destroy()));
  const count = (): number => gateway.log.split('too many open files').length - 1;
  await eventually(
    'the log reports it',
    30_000,
    () => {
      keepOpen();
      return count();
    },
    (lines) => lines > 0,
  );
  for (const socket of [...sockets]) socket.destroy();
  await eventually(
    'it serves again',
    30_000,
    () =>
      fetch(gateway.api).then(
        ({ status }) => status,
        () => 0,
      ),
    (status) => status === 200,
  );
  assert.ok(count() <= 2, 'not a line for each connection');
});
