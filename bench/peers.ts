// Other products under the same load, with persistence on and their own kind of listener: ntfy and Gotify, from the
// binaries named by NTFY and GOTIFY.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { findFreePort } from '@tocsin/test-support/mosquitto.ts';
import { adopt } from './clean-up.ts';
import { startListener } from './helpers.ts';
import type { Server } from './measure.ts';
import { UsageError } from './options.ts';
import { httpRequest, notification } from './request.ts';

const startTimeoutMs = 20_000;

export async function startPeers(hasListener: boolean): Promise<Server[]> {
  const { NTFY, GOTIFY } = process.env;
  if (!NTFY && !GOTIFY) throw new UsageError('--peers needs the binary of ntfy in NTFY or that of Gotify in GOTIFY.');
  return [
    ...(NTFY ? [await startNtfy(NTFY, hasListener)] : []),
    ...(GOTIFY ? [await startGotify(GOTIFY, hasListener)] : []),
  ];
}

async function startNtfy(binary: string, hasListener: boolean): Promise<Server> {
  const { folder, port, api } = await place();
  const configuration = join(folder, 'server.yml');
  await writeFile(
    configuration,
    [
      `base-url: ${api}`,
      `listen-http: 127.0.0.1:${port}`,
      `cache-file: ${join(folder, 'cache.db')}`,
      // As durable as the gateway: by default ntfy may lose the last messages when the power fails.
      'cache-startup-queries: "pragma journal_mode = WAL; pragma synchronous = full;"',
      'visitor-request-limit-exempt-hosts: 127.0.0.1',
      'visitor-message-daily-limit: 1000000000',
      'log-level: error',
      '',
    ].join('\n'),
  );
  const { pid } = await run(binary, ['serve', '-c', configuration], folder, `${api}/v1/health`);
  return {
    name: 'ntfy',
    pids: [pid as number],
    targets: [
      {
        port,
        request: httpRequest(
          port,
          '/bench',
          { Title: notification.title, Priority: '4', Tags: 'warning' },
          notification.body,
        ),
      },
    ],
    services: {},
    mustContain: '"event":"message"',
    listener: hasListener ? await startListener({ kind: 'lines', url: `${api}/bench/json` }) : null,
  };
}

async function startGotify(binary: string, hasListener: boolean): Promise<Server> {
  const { folder, port, api } = await place();
  const password = crypto.randomUUID();
  const { pid } = await run(binary, [], folder, `${api}/health`, {
    GOTIFY_SERVER_PORT: String(port),
    GOTIFY_SERVER_LISTENADDR: '127.0.0.1',
    GOTIFY_DATABASE_DIALECT: 'sqlite3',
    GOTIFY_DATABASE_CONNECTION: join(folder, 'gotify.db'),
    GOTIFY_DEFAULTUSER_NAME: 'bench',
    GOTIFY_DEFAULTUSER_PASS: password,
  });
  const tokenOf = async (what: 'application' | 'client'): Promise<string> => {
    const response = await fetch(`${api}/${what}`, {
      method: 'POST',
      headers: {
        Authorization: `Basic ${Buffer.from(`bench:${password}`).toString('base64')}`,
        'Content-Type': 'application/json',
      },
      body: '{"name":"bench"}',
    });
    const { token } = (await response.json()) as { token?: string };
    if (token === undefined) throw new Error(`Gotify gave no token: it responded with ${response.status}.`);
    return token;
  };
  const headers = { 'X-Gotify-Key': await tokenOf('application'), 'Content-Type': 'application/json' };
  const message = JSON.stringify({ title: notification.title, message: notification.body, priority: 5 });
  return {
    name: 'gotify',
    pids: [pid as number],
    targets: [{ port, request: httpRequest(port, '/message', headers, message) }],
    services: {},
    mustContain: '"appid":',
    listener: hasListener
      ? await startListener({
          kind: 'websocket',
          url: `ws://127.0.0.1:${port}/stream?token=${await tokenOf('client')}`,
        })
      : null,
  };
}

async function place(): Promise<{ folder: string; port: number; api: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'peer-'));
  const port = await findFreePort();
  return { folder, port, api: `http://127.0.0.1:${port}` };
}

async function run(
  binary: string,
  args: string[],
  cwd: string,
  health: string,
  environment: Record<string, string> = {},
): Promise<ChildProcess> {
  const child = await adopt(
    () => spawn(binary, args, { cwd, env: { PATH: process.env.PATH, ...environment }, stdio: 'ignore' }),
    (started) => started.kill('SIGKILL'),
  );
  await eventually(
    `${binary} is ready`,
    startTimeoutMs,
    async () => (await fetch(health).catch(() => null))?.ok,
    (isOk) => isOk === true,
  );
  return child;
}
