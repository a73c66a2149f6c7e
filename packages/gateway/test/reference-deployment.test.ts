// The promises of deploy/ and compose.yaml: the same topology with real servers, and consistency of the files.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { tokenIn } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { mosquittoObstacle } from '@tocsin/test-support/mosquitto.ts';
import { nginxObstacle } from '@tocsin/test-support/nginx.ts';
import { postgresObstacle } from '@tocsin/test-support/postgres.ts';
import {
  addressOf,
  type BalancedAnswer,
  clone,
  type NodeName,
  nodeNames,
  ReferenceDeployment,
  readCompose,
} from '@tocsin/test-support/reference-deployment.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { connectAsync } from 'mqtt';

const obstacle = nginxObstacle() ?? postgresObstacle() ?? mosquittoObstacle();
const callers = 8;

type LoadAnswer = BalancedAnswer & { isRepeatable: boolean };

suite('The reference deployment', () => {
  let deployment: ReferenceDeployment;
  let key: string;
  let owner: string;

  before(async () => {
    if (obstacle !== null) return;
    deployment = await ReferenceDeployment.start();
    const commands = deployment.installation('tocsin-1');
    ({ id: owner } = await commands.json<{ id: string }>('owner', 'create', '--name', 'Ann'));
    ({ key } = await commands.json<{ key: string }>('key', 'create'));
  });
  after(() => deployment?.stop());

  const send = (title: string, headers?: Record<string, string>): Promise<BalancedAnswer> =>
    deployment.ask('/', { 'X-API-Key': key, ...headers }, { title });

  /** Callers that send without pause, half of them with Idempotency-Keys; collects all responses. */
  async function underLoad(during: (answers: LoadAnswer[]) => Promise<void>): Promise<LoadAnswer[]> {
    const answers: LoadAnswer[] = [];
    let isOver = false;
    const call = async (caller: number): Promise<void> => {
      const isRepeatable = caller % 2 === 0;
      while (!isOver) {
        const answer = await send(`caller ${caller}`, isRepeatable ? { 'Idempotency-Key': randomUUID() } : {});
        answers.push({ ...answer, isRepeatable });
      }
    };
    const calling = Array.from({ length: callers }, (_, caller) => call(caller));
    try {
      await during(answers);
    } finally {
      isOver = true;
      await Promise.all(calling);
    }
    return answers;
  }

  /** The balancer sends requests to this node, so the other can be stopped. */
  const serves = async (name: NodeName): Promise<void> => {
    const first = await deployment.answeredBy(name);
    await eventually(
      `the balancer uses ${name}`,
      20_000,
      () => deployment.answeredBy(name),
      (count) => count > first,
    );
  };

  const failed = (answers: LoadAnswer[]): LoadAnswer[] => answers.filter(({ body }) => body?.stored !== true);

  test('accepts notifications at both nodes and delivers them to a device that signed in over TLS', async (t) => {
    if (!canRun(t, obstacle)) return;
    const { mqtt } = await deployment
      .installation('tocsin-2')
      .json<{ mqtt: { username: string; password: string; topic: string } }>('device', 'create', '--name', 'Lamp');
    await deployment.admitDevice(mqtt.username, mqtt.password);
    const { username, password } = mqtt;
    const options = { ca: deployment.ca, reconnectPeriod: 0, username };
    const device = await eventually(
      'the broker accepts the device',
      10_000,
      () => connectAsync(deployment.devicesUrl, { ...options, password }, false).catch(() => null),
      (client) => client !== null,
    );
    t.after(() => device?.endAsync(true));
    const heard = new Set<string>();
    device?.on('message', (_topic, payload) => heard.add((JSON.parse(String(payload)) as { title: string }).title));
    await device?.subscribeAsync(mqtt.topic, { qos: 1 });

    const titles = Array.from({ length: 20 }, (_, number) => `number ${number}`);
    for (const title of titles) {
      const { status, body } = await send(title);
      assert.equal(status, 200);
      assert.equal(body?.stored, true);
      assert.equal(body?.mqttPublishedCount, 1, JSON.stringify(body));
    }
    for (const name of nodeNames) assert.ok((await deployment.answeredBy(name)) > 0, `${name} served`);
    await eventually(
      'the device received all of them',
      5000,
      () => [...heard].sort(),
      (all) => all.length === titles.length,
    );
    await assert.rejects(connectAsync(deployment.devicesUrl, { ...options, password: 'wrong' }, false));
  });

  test('exposes nothing of the console through the balancer, and every node reports that it is ready', async (t) => {
    if (!canRun(t, obstacle)) return;
    for (const path of ['/metrics', '/healthz', '/readyz']) assert.equal((await deployment.ask(path)).status, 404);
    for (const name of nodeNames) {
      const ready = await fetch(new URL('/readyz', deployment.gateway(name).line.console));
      assert.deepEqual([ready.status, ((await ready.json()) as { mqtt: string }).mqtt], [200, 'ok']);
    }
  });

  test('has the inbox on its own port, where one sign-in is valid on both nodes', async (t) => {
    if (!canRun(t, obstacle)) return;
    for (const path of ['/metrics', '/healthz', '/readyz']) assert.equal((await deployment.askInbox(path)).status, 404);
    const { url: link } = await deployment.installation('tocsin-2').json<{ url: string }>('owner', 'sign-in', owner);
    assert.equal(new URL(link).port, new URL(deployment.inboxUrl).port, 'the link leads through the balancer');
    const signedIn = await deployment.askInbox('/api/sign-in/link', {}, { token: tokenIn(link) });
    assert.deepEqual([signedIn.status, /; Secure/.test(signedIn.cookie)], [200, true]);
    const headers = { Cookie: signedIn.cookie.replace(/;.*$/, '') };
    // nginx distributes requests round-robin.
    for (const path of Array(4).fill('/api/session')) {
      assert.equal((await deployment.askInbox(path, headers)).status, 200);
    }
  });

  test('uses only known variables, and keeps no state on a node that another node needs', async (t) => {
    if (!canRun(t, obstacle)) return;
    for (const name of nodeNames) {
      const installation = deployment.installation(name);
      const { findings } = await installation.json<{ findings: { check: string; state: string }[] }>('doctor');
      assert.equal(findings.find(({ check }) => check === 'configuration')?.state, 'ok');
      assert.deepEqual(readdirSync(installation.dataDir), []);
    }
  });

  test('can be upgraded node by node under load: no request with an Idempotency-Key fails, and hardly any without', async (t) => {
    if (!canRun(t, obstacle)) return;
    const answers = await underLoad(async () => {
      for (const name of nodeNames) {
        assert.equal(await deployment.gateway(name).stop(), 0);
        await deployment.startNode(name);
        await serves(name);
      }
    });
    const lost = failed(answers);
    t.diagnostic(`${lost.length} of ${answers.length} requests failed while both nodes were replaced`);
    assert.deepEqual(
      lost.filter(({ isRepeatable }) => isRepeatable),
      [],
    );
    // The balancer may not resend a request that reached a node at the moment of its shutdown.
    assert.ok(lost.length <= callers / 2, `${lost.length} failed`);
  });

  test('survives the kill of a node: its requests in flight are interrupted, or repeated if that is safe', async (t) => {
    if (!canRun(t, obstacle)) return;
    const answers = await underLoad(async (sofar) => {
      await serves('tocsin-2');
      await deployment.gateway('tocsin-2').kill();
      const atDeath = sofar.length;
      await eventually(
        'many more responses',
        20_000,
        () => sofar.length,
        (count) => count > atDeath + 200,
      );
    });
    const lost = failed(answers);
    t.diagnostic(`${lost.length} of ${answers.length} requests were interrupted when the node was killed`);
    assert.ok(lost.length <= callers, `${lost.length} failed`);
    for (const { status, body, isRepeatable } of lost) {
      // The dead node had started this request, so its repetition is reported as in progress.
      if (isRepeatable) assert.equal(body?.code, 'idempotency_in_progress');
      else assert.equal(status, 502);
    }
    await deployment.startNode('tocsin-2');
    await underLoad(() => serves('tocsin-2'));
  });
});

suite('The compose files', () => {
  const cluster = readCompose('deploy/compose.cluster.yaml');
  const single = readCompose('compose.yaml');

  test('publish no port of a node, and on one machine only to loopback', () => {
    const published = Object.entries(cluster.services).filter(([, { ports }]) => ports !== undefined);
    assert.deepEqual(published.map(([name]) => name).sort(), ['mosquitto', 'nginx']);
    const ports = single.services.tocsin?.ports ?? [];
    assert.equal(ports.length, 3);
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:(\d+):\1$/);
  });

  test('name only existing files, secrets, volumes and services', () => {
    for (const [name, service] of Object.entries(cluster.services)) {
      for (const secret of service.secrets ?? []) assert.ok(cluster.secrets?.[secret], `${secret} of ${name}`);
      for (const other of Object.keys(service.depends_on ?? {})) assert.ok(cluster.services[other], other);
      for (const [source = ''] of (service.volumes ?? []).map((volume) => volume.split(':'))) {
        const isThere = source.startsWith('.') ? existsSync(join(clone, 'deploy', source)) : source in cluster.volumes;
        assert.ok(isThere, `${source} of ${name}`);
      }
    }
  });

  test('let the nodes trust only the balancer, and list the nodes in the balancer', () => {
    const { nginx = {}, ...others } = cluster.services;
    const balancer = readFileSync(join(clone, 'deploy/nginx.conf'), 'utf8');
    for (const name of nodeNames) {
      assert.equal(others[name]?.environment?.TOCSIN_TRUSTED_PROXIES, addressOf(nginx));
      assert.ok(balancer.includes(`server ${addressOf(others[name] ?? {})}:8080 `));
    }
  });

  test('quote values, since YAML would read off as false', () => {
    const services = [...Object.values(cluster.services), ...Object.values(single.services)];
    const values = services.flatMap(({ environment }) => Object.values(environment ?? {}));
    assert.ok(values.length > 10);
    for (const value of values) assert.equal(typeof value, 'string');
  });

  test('have the access list that the operators’ guide explains', () => {
    const guide = readFileSync(join(clone, 'docs/operators.md'), 'utf8');
    assert.ok(guide.includes(readFileSync(join(clone, 'deploy/mosquitto.acl'), 'utf8')));
  });

  test('get their secrets from a script that keeps existing ones', (t: TestContext) => {
    const folder = mkdtempSync(join(tmpdir(), 'tocsin-secrets-'));
    t.after(() => rmSync(folder, { recursive: true }));
    cpSync(join(clone, 'deploy/make-secrets.sh'), join(folder, 'make-secrets.sh'));
    const make = (): Record<string, string> => {
      execFileSync('sh', [join(folder, 'make-secrets.sh')], { stdio: 'pipe' });
      const names = readdirSync(join(folder, 'secrets'));
      return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, 'secrets', name), 'utf8')]));
    };
    const secrets = make();
    assert.equal(statSync(join(folder, 'secrets')).mode & 0o777, 0o700);
    assert.deepEqual(
      [...Object.keys(secrets), 'tls_cert', 'tls_key'].sort(),
      Object.keys(cluster.secrets ?? {}).sort(),
    );
    assert.equal(Buffer.from(secrets.master_key ?? '', 'base64').length, 32);
    assert.equal(new URL(secrets.database_url ?? '').password, secrets.postgres_password?.trim());
    assert.deepEqual(make(), secrets);
  });
});
