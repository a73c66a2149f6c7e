// A channel that exists only here: a folder of four files, an import and an entry in the registry. The rest of the service knows it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { InboxDetail, Preferences, SessionInfo } from '@tocsin/contract/console';
import { type ConsoleClient, signInAtFirstRun } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { notify, send } from '@tocsin/test-support/requests.ts';
import { scrape } from '@tocsin/test-support/scrape.ts';
import { type ProviderState, runChannelContract, usualOutcomes } from './channel-contract.ts';
import { createPagerSender } from './fixtures/throwaway-channel/sender.ts';
import { pagers } from './fixtures/throwaway-channel/target.ts';

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const program = ['--import', path('fixtures/throwaway-channel/add-to-registry.ts'), path('../src/cli/main.ts')];

const statuses = { healthy: 204, busy: 503, gone: 410, refusing: 400 };

/** The provider at the other end: a server that notes the pages it accepted. */
class PagerService {
  state: ProviderState = 'healthy';
  readonly pages: { title: string; pager: string }[] = [];
  stalled = 0;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(t: TestContext): Promise<PagerService> {
    const server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      service.#respond(body, response);
    });
    const service = new PagerService(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  titles(): string[] {
    return this.pages.map(({ title }) => title);
  }

  #respond(body: string, response: ServerResponse): void {
    if (this.state === 'unreachable') response.destroy();
    else if (this.state === 'hanging') this.stalled += 1;
    else {
      if (this.state === 'healthy' && body !== '') this.pages.push(JSON.parse(body));
      response.writeHead(statuses[this.state]).end();
    }
  }
}

runChannelContract(
  'of this test',
  {
    channel: 'pager',
    outcomes: usualOutcomes,
  },
  async (t) => {
    const service = await PagerService.start(t);
    return {
      channel: createPagerSender({ url: service.url }),
      newTarget: () => ({ id: 'pgr_belt' }),
      secrets: [service.url],
      simulate: (state) => {
        service.state = state;
      },
    };
  },
);

async function installWithPager(t: TestContext, environment: Record<string, string> = {}) {
  const service = await PagerService.start(t);
  const installation = await install(t, { TOCSIN_PAGER_URL: service.url, ...environment }, program);
  return { service, installation };
}

async function deliveriesOf(client: ConsoleClient, id: string) {
  const { body } = await client.get<InboxDetail>(`/api/notifications/${id}`);
  return body.deliveries.filter(({ channel }) => channel === 'pager');
}

const allSent = pagers.map(({ id }) => ({ channel: 'pager', target: id, outcome: 'sent' }));

async function readyz(gateway: GatewayProcess): Promise<Record<string, unknown>> {
  return (await fetch(new URL('/readyz', gateway.line.console))).json() as Promise<Record<string, unknown>>;
}

suite('A new channel', () => {
  test('is planned, delivered, reported, counted and shown in the inbox', async (t) => {
    const { service, installation } = await installWithPager(t);
    const gateway = await installation.serve();
    const { body } = await notify(gateway, { title: 'Fire' });
    assert.deepEqual(body.channels, allSent);
    assert.deepEqual(body.warnings, ['mqtt_no_subscriber'], 'of the first device, and nothing of the new channel');
    assert.deepEqual(
      service.pages.map(({ title, pager }) => [title, pager]).sort(),
      pagers.map(({ id }) => ['Fire', id]),
    );
    const metadata = await send<{ channels: string[] }>(gateway.api, { method: 'GET' });
    assert.equal(metadata.body.channels.at(-1), 'pager');
    const client = await signInAtFirstRun(gateway);
    const { service: info } = (await client.get<SessionInfo>('/api/session')).body;
    assert.deepEqual(info.channels.at(-1), { name: 'pager', label: 'Pager' });
    const shown = await deliveriesOf(client, body.id);
    assert.deepEqual(
      shown.map(({ target, name, state }) => [target, name, state]),
      pagers.map(({ id, name }) => [id, name, 'sent']),
    );
    const metrics = await scrape(gateway);
    assert.equal(metrics.sum('tocsin_channel_outcomes_total', { channel: 'pager', kind: 'sent', attempt: 'first' }), 2);
    assert.equal(metrics.sum('tocsin_breaker_state', { guard: 'pager' }), 0);
  });

  test('is retried after a crash, both when it was unreachable and when the crash interrupted the first attempt', async (t) => {
    const { service, installation } = await installWithPager(t);
    const first = await installation.serve();
    const { key } = first;
    const client = await signInAtFirstRun(first);
    service.state = 'unreachable';
    const unreachable = (await notify(first, { title: 'Unreachable' })).body;
    const error = 'The pager service cannot be reached';
    assert.deepEqual(
      unreachable.channels,
      pagers.map(({ id }) => ({ channel: 'pager', target: id, outcome: 'retry', error })),
    );
    assert.ok(unreachable.warnings.includes('redelivery_scheduled'));
    const [waiting] = await deliveriesOf(client, unreachable.id);
    assert.deepEqual([waiting?.state, waiting?.error], ['waiting', error]);
    await first.kill();
    service.state = 'hanging';
    const second = await installation.serve();
    void notify({ api: second.api, key }, { title: 'Interrupted' }).catch(() => undefined);
    await eventually(
      'sends are in flight',
      20_000,
      async () => service.stalled,
      (count) => count >= 2,
    );
    await second.kill();
    service.state = 'healthy';
    await installation.serve();
    await eventually(
      'both arrive at both pagers',
      30_000,
      async () => [...service.titles()].sort(),
      (titles) => titles.filter((each) => each === 'Unreachable').length >= 2 && titles.includes('Interrupted'),
    );
  });

  test('changes no response, metric or dispatch while it is not configured', async (t) => {
    const installation = await install(t, {}, program);
    const gateway = await installation.serve();
    const { key } = gateway;
    const { body } = await notify(gateway, { title: 'No pager', sendMqtt: false });
    assert.equal(body.stored, true);
    assert.equal('channels' in body, false);
    assert.deepEqual(body.warnings, []);
    const metrics = await scrape(gateway);
    assert.equal(metrics.sum('tocsin_channel_outcomes_total') ?? 0, 0);
    assert.equal((await readyz(gateway)).pager, 'not configured');
    assert.equal((await notify({ api: gateway.api, key }, { title: 'To the device' })).body.mqttPublishedCount, 1);
    await gateway.stop();
    const database = new DatabaseSync(join(installation.dataDir, 'tocsin.db'), { readOnly: true });
    t.after(() => database.close());
    const dispatches = database.prepare('SELECT targets FROM dispatches').all() as { targets: string }[];
    assert.deepEqual(
      dispatches.map(({ targets }) => 'pager' in JSON.parse(targets)),
      [false],
    );
  });

  test('is checked by readiness and doctor', async (t) => {
    const { service, installation } = await installWithPager(t);
    const gateway = await installation.serve();
    assert.equal((await readyz(gateway)).pager, 'ok');
    const findings = async () => {
      const { stdout } = await installation.run(['doctor', '--json']);
      return (JSON.parse(stdout) as { findings: { check: string; state: string; message: string }[] }).findings.filter(
        ({ check }) => check === 'pager',
      );
    };
    assert.deepEqual(await findings(), [{ check: 'pager', state: 'ok', message: 'The pager service responds' }]);
    service.state = 'unreachable';
    assert.deepEqual(await findings(), [
      {
        check: 'pager',
        state: 'failed',
        message: 'The pager service cannot be reached. Check TOCSIN_PAGER_URL.',
      },
    ]);
    await eventually(
      'readiness reports it',
      15_000,
      () => readyz(gateway),
      ({ pager }) => pager === 'unavailable',
    );
    const { stdout } = await installation.run(['doctor'], { TOCSIN_PAGER_URL: '' });
    assert.match(stdout, /warning {2}pager: No pager service is configured: set TOCSIN_PAGER_URL/);
  });

  test('is muted in quiet hours, except for critical notifications', async (t) => {
    const { service, installation } = await installWithPager(t);
    const gateway = await installation.serve();
    const client = await signInAtFirstRun(gateway);
    const { body: preferences } = await client.get<Preferences>('/api/preferences');
    const hour = (offset: number): string => new Date(Date.now() + offset * 3_600_000).toISOString().slice(11, 16);
    const quietHours = { timeZone: 'UTC', pager: { from: hour(-1), to: hour(1) } };
    const { status } = await client.put('/api/preferences', { ...preferences, quietHours });
    assert.equal(status, 200);
    await eventually(
      'the channel is muted',
      5000,
      () => notify(gateway, { title: 'Muted?' }),
      ({ body }) => body.channels?.length === 0 && body.warnings.includes('quiet_hours'),
    );
    const before = service.pages.length;
    assert.deepEqual((await notify(gateway, { title: 'Fire', severity: 'critical' })).body.channels, allSent);
    assert.equal(service.pages.length, before + pagers.length);
  });
});
