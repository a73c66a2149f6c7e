// The bench as a developer runs it, for a second each: every server is measured, and every message arrived.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import '@tocsin/test-support/build.ts';
import type { BodiesReport } from '../../../bench/bodies.ts';
import type { CrowdReport } from '../../../bench/crowd.ts';
import type { Report } from '../../../bench/report.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

async function bench<Measured = Report>(...options: string[]): Promise<Measured> {
  const args = ['bench/run.ts', '--json', '--rounds', '1', '--seconds', '1', '--connections', '4', ...options];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.equal(errors, '');
  return JSON.parse(output) as Measured;
}

function assertMeasured({ rounds }: Report, names: string[], withListener: string[]): void {
  const [round] = rounds;
  assert.deepEqual(Object.keys(round?.measurements ?? {}), names);
  for (const [name, { requests, errors, processorUs, delivery }] of Object.entries(round?.measurements ?? {})) {
    assert.ok(requests > 0 && errors === 0, name);
    assert.ok(processorUs === null || processorUs > 0, name);
    assert.equal(delivery !== null, withListener.includes(name), name);
    // The response to a request may come after the end of the measured time.
    if (delivery !== null) assert.ok(delivery.arrived >= requests, `${name}: ${delivery.arrived} of ${requests}`);
  }
}

test('The bench measures the gateway with a device beside the sketch, the echo server and another checkout', async () => {
  const report = await bench('--mqtt', 'embedded', '--against', root);
  assertMeasured(report, ['gateway', 'other', 'sketch', 'echo'], ['gateway', 'other']);
  assert.equal(report.rounds[0]?.measurements.gateway?.delivery?.outOfOrder, 0);
});

test('The bench compares Mosquitto with the embedded broker, and counts the work of database and broker', async () => {
  const report = await bench('--store', 'postgres', '--mqtt', 'mosquitto');
  assertMeasured(report, ['gateway', 'embedded', 'sketch', 'echo'], ['gateway', 'embedded']);
  const { gateway, embedded } = report.rounds[0]?.measurements ?? {};
  assert.deepEqual(Object.keys(gateway?.servicesUs ?? {}), ['PostgreSQL', 'Mosquitto']);
  assert.deepEqual(Object.keys(embedded?.servicesUs ?? {}), ['PostgreSQL']);
  assert.ok((gateway?.servicesUs.PostgreSQL ?? 0) > 0);
  assert.ok((report.work.gateway?.transactionsPerNotification ?? 0) > 0);
});

test('The bench measures ntfy and Gotify under the same load', async (t) => {
  const peers = Object.entries({ ntfy: process.env.NTFY, gotify: process.env.GOTIFY }).flatMap(([name, binary]) =>
    binary ? [name] : [],
  );
  if (peers.length === 0) {
    t.skip('SKIPPED: name the binaries of the peers with NTFY and GOTIFY; docs/sizing.md describes how to build them');
    return;
  }
  const report = await bench('--mqtt', 'embedded', '--peers');
  assertMeasured(report, ['gateway', ...peers, 'sketch', 'echo'], ['gateway', ...peers]);
});

for (const crowd of ['devices', 'inboxes'] as const) {
  test(`The bench connects many ${crowd}, and each notification reaches all of one owner in order`, async () => {
    const receivers = crowd === 'devices' ? 100 : 20;
    const { clients, notify, others } = await bench<CrowdReport>(`--${crowd}`, String(receivers + 10));
    assert.equal(clients, receivers + 10);
    assert.ok(notify.notifications > 0);
    assert.equal(notify.receivers, receivers);
    assert.equal(notify.arrived, notify.notifications * notify.receivers);
    assert.equal(notify.outOfOrder, 0);
    for (const [phase, { requests }] of Object.entries(others)) assert.ok(requests > 0, phase);
  });
}

test('The bench measures how long hostile bodies occupy the event loop', async () => {
  const { bodies } = await bench<BodiesReport>('--bodies');
  assert.ok(bodies.length >= 40);
  for (const { name, status, turns } of bodies) {
    const measured = status === 200 ? ['stored', 'MQTT', 'email', 'push', 'inbox'] : ['stored'];
    assert.deepEqual(Object.keys(turns), measured, name);
    for (const times of Object.values(turns)) assert.ok(times.length === 1 && (times[0] ?? 0) > 0, name);
  }
  assert.deepEqual([...new Set(bodies.map(({ status }) => status))].sort(), [200, 400]);
});
