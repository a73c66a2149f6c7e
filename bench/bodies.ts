// npm run bench -- --bodies: how long one request with a hostile body occupies the event loop, on each way that its content
// takes: stored, delivered over each channel, and read in the inbox.
import { Agent, request } from 'node:http';
import { availableParallelism, tmpdir } from 'node:os';
import { ConsoleClient, linkFor } from '@tocsin/test-support/console-client.ts';
import { launcher } from '@tocsin/test-support/gateway-process.ts';
import { type HostileContent, hostileContents } from '@tocsin/test-support/hostile-contents.ts';
import { FcmStandIn } from '@tocsin/test-support/push-fcm-stand-in.ts';
import { startSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import { adopt } from './clean-up.ts';
import { type BenchEnvironment, createEnvironment } from './environment.ts';
import { median, table } from './figures.ts';
import { startGateway, untilResponse } from './gateway.ts';
import { startListener } from './helpers.ts';
import { type HostileBody, hostileBodies } from './hostile-bodies.ts';
import type { Options } from './options.ts';
import { measureTurns, probeOptions } from './turns.ts';

/** The longest that one request may keep all others waiting. */
const goalMs = 25;

const systemClock = {
  get now() {
    return Date.now();
  },
};

/** The inbox reads what the first way has stored. */
const ways = ['stored', 'MQTT', 'email', 'push', 'inbox'] as const;
type Way = (typeof ways)[number];

export interface BodiesReport {
  kind: 'bodies';
  measuredAt: string;
  node: string;
  processors: number;
  repeats: number;
  bodies: BodyResult[];
}

interface BodyResult {
  name: string;
  bytes: number;
  status: number;
  /** In milliseconds of processor time, one value per repeat. Refused bodies go no further than `stored`. */
  turns: Partial<Record<Way, number[]>>;
}

interface Answer {
  status: number;
  body: string;
}

export async function measureBodies(options: Options, say: (line: string) => void): Promise<BodiesReport> {
  const { pid, ways: run } = await startWays(options);
  const results: BodyResult[] = [];
  const bodies = [...hostileBodies(), ...hostileContents().map(toBody)];
  say(`${bodies.length} bodies …`);
  for (const body of bodies) {
    const bytes = Buffer.from(body.text);
    const result: BodyResult = { name: body.name, bytes: bytes.length, status: 0, turns: {} };
    for (const way of ways) {
      const turns: number[] = [];
      // The first request of a shape is not counted: it finds code that is not compiled yet.
      for (let repeat = -1; repeat < options.rounds; repeat += 1) {
        const { turnMs, result: answer } = await measureTurns(pid, () => run[way](body, bytes));
        if (way === 'stored') result.status = answer.status;
        if (repeat >= 0) turns.push(turnMs);
      }
      result.turns[way] = turns;
      if (result.status !== 200) break;
    }
    results.push(result);
  }
  return {
    kind: 'bodies',
    measuredAt: new Date().toISOString(),
    node: process.versions.node,
    processors: availableParallelism(),
    repeats: options.rounds,
    bodies: results.sort((left, right) => longest(right) - longest(left)),
  };
}

type RunWay = (body: HostileBody, bytes: Buffer) => Promise<Answer>;

/** One owner for each way: a body cannot choose its channels, because it would no longer have its shape. */
async function startWays(options: Options): Promise<{ pid: number; ways: Record<Way, RunWay> }> {
  const smtp = await adopt(startSmtpServer, (server) => server.kill());
  const fcm = await adopt(
    () => FcmStandIn.start(systemClock),
    (standIn) => standIn.server.stop(),
  );
  const environment = await createEnvironment(
    options,
    {
      TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
      TOCSIN_EMAIL_FROM: 'bench@example.com',
      ...fcm.environment,
      // Where the probe creates its socket.
      TMPDIR: tmpdir(),
    },
    [...probeOptions, launcher],
  );
  const { installation } = environment;
  const gateway = await startGateway(installation, { hasDevice: true });
  const [{ port, pid, api, process: server }] = gateway.nodes;
  await startListener(gateway.device);
  const stored = await createOwner(environment);
  const email = await createOwner(environment, '--email', 'ann@example.com', '--email-alerts', 'on');
  const push = await createOwner(environment);
  await installation.json('push', 'add', '--owner', push.id, '--provider', 'fcm', '--token', 'bench-'.repeat(8));
  await untilResponse({ api, key: email.key }, 'email', ({ emailSent }) => emailSent === true);
  await untilResponse({ api, key: push.key }, 'push', ({ pushSent }) => pushSent === true);
  const client = new ConsoleClient(server.line.console);
  await client.useLink(await linkFor(installation, client.origin, stored.id));

  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send =
    (key: string): RunWay =>
    (body, bytes) =>
      post(agent, port, key, body.contentType, bytes);
  return {
    pid,
    ways: {
      stored: send(stored.key),
      MQTT: send(gateway.key),
      email: send(email.key),
      push: send(push.key),
      inbox: async () => {
        const response = await client.fetch('/api/notifications?limit=1');
        return { status: response.status, body: await response.text() };
      },
    },
  };
}

async function createOwner({ installation }: BenchEnvironment, ...settings: string[]) {
  const { id = '' } = await installation.json('owner', 'create', '--name', 'Bench', ...settings);
  const { key = '' } = await installation.json('key', 'create', '--owner', id);
  return { id, key };
}

function post(agent: Agent, port: number, key: string, contentType: string, bytes: Buffer): Promise<Answer> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': contentType, 'Content-Length': bytes.length };
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host: '127.0.0.1', port, method: 'POST', headers }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    sent.on('error', reject);
    sent.end(bytes);
  });
}

function toBody({ name, content }: HostileContent): HostileBody {
  return { name, contentType: 'application/json', text: JSON.stringify(content) };
}

function longest({ turns }: BodyResult): number {
  return Math.max(...Object.values(turns).map(median));
}

export function describeBodies({ bodies, repeats, node, processors }: BodiesReport): string {
  const beyond = bodies.filter((body) => longest(body) > goalMs);
  return [
    '',
    `Longest turn of the event loop for one request, in ms of processor time; medians of ${repeats}. Node ${node}, ` +
      `${processors} processors.`,
    `${bodies.length - beyond.length} of ${bodies.length} bodies are within the goal of ${goalMs} ms.`,
    '',
    ...table(
      ['hostile body', 'bytes', 'status', ...ways],
      bodies.map((body) => [
        body.name,
        String(body.bytes),
        String(body.status),
        ...ways.map((way) => body.turns[way]).map((turns) => (turns === undefined ? '' : median(turns).toFixed(1))),
      ]),
    ),
    '',
  ].join('\n');
}
