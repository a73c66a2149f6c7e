// Changes by one process take effect in the others: at once if something is allowed, within a second if it is revoked.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { install } from '@tocsin/test-support/install.ts';
import { pauseBetweenRequests } from '@tocsin/test-support/pace.ts';
import { notify } from '@tocsin/test-support/requests.ts';

const promisedMs = 1000;
/** Slack for the requests that observe it, on a busy machine. */
const slackMs = 500;

type Target = Parameters<typeof notify>[0];

test('A key that the CLI creates while the gateway runs is accepted at once', async (t) => {
  const { installation, gateway } = await start(t);
  // The gateway has just read its keys, and this one did not exist.
  await keepBusy(gateway);
  const value = 'svc_importedWhileTheGatewayRuns';
  assert.equal((await notify({ api: gateway.api, key: value }, { title: 'too early' })).status, 401);
  await installation.json('key', 'create', '--value', value);
  const { status, body } = await notify({ api: gateway.api, key: value }, { title: 'first' });
  assert.equal(status, 200);
  assert.equal(body.stored, true);
  const created = await installation.json<{ key: string }>('key', 'create');
  assert.equal((await notify({ api: gateway.api, key: created.key }, { title: 'second' })).status, 200);
});

for (const state of ['busy', 'idle']) {
  test(`A revoked key is refused within a second by a gateway that is ${state}`, async (t) => {
    const { installation, gateway } = await start(t);
    const { id, key } = await installation.json<{ id: string; key: string }>('key', 'create');
    const target = { api: gateway.api, key };
    assert.equal((await notify(target, { title: 'before' })).status, 200);
    const load = new AbortController();
    const loaded = state === 'busy' ? keepSending(target, load.signal) : null;
    await installation.json('key', 'revoke', id);
    const { body } = await answerWithin(target, {}, 401, performance.now(), t, `the ${state} gateway refused`);
    assert.equal(body.code, 'invalid_api_key');
    load.abort();
    if (loaded !== null) assert.ok((await loaded).includes(200), 'the key was in use when it was revoked');
    assert.equal((await notify(target, { title: 'after' })).status, 401, 'and it stays refused');
  });
}

test('A device that another process pauses, deactivates, resumes or deletes is treated so within a second', async (t) => {
  const { installation, gateway } = await start(t);
  const { id: deviceId } = await installation.json<{ id: string }>('device', 'create', '--name', 'Phone');
  const steps = [
    { verb: 'pause', status: 409, code: 'device_not_publishable' },
    { verb: 'resume', status: 200 },
    { verb: 'deactivate', status: 409, code: 'device_not_publishable' },
    { verb: 'activate', status: 200 },
    { verb: 'delete', status: 404, code: 'device_not_found' },
  ];
  assert.equal((await notify(gateway, { title: 'before', deviceId })).status, 200);
  for (const { verb, status, code } of steps) {
    await installation.json('device', verb, deviceId);
    const { body } = await answerWithin(gateway, { deviceId }, status, performance.now(), t, `${verb} was followed`);
    assert.equal(body.code, code);
  }
});

test('A key reaches only devices of its own owner', async (t) => {
  const { installation, gateway } = await start(t);
  const deviceOfFirst = gateway.line.firstRun?.device.id;
  const owner = await installation.json('owner', 'create', '--name', 'Other');
  const ofOther = ['--owner', owner.id as string];
  const { key } = await installation.json<{ key: string }>('key', 'create', ...ofOther);
  const { id: deviceOfOther } = await installation.json<{ id: string }>(
    ...['device', 'create', '--name', 'Phone', ...ofOther],
  );
  const other = { api: gateway.api, key };
  const foreign = await notify(other, { title: 'x', deviceId: deviceOfFirst });
  const unknown = await notify(other, { title: 'x', deviceId: 'dev_thatNeverWas' });
  assert.equal(foreign.status, 404);
  assert.equal(foreign.body.code, 'device_not_found');
  const { requestId: _a, timestamp: _b, ...seen } = foreign.body;
  const { requestId: _c, timestamp: _d, ...expected } = unknown.body;
  assert.deepEqual(seen, expected, 'the response equals that for a device that never existed');
  assert.equal((await notify(other, { title: 'x', deviceId: deviceOfOther })).status, 200);
  assert.equal((await notify(gateway, { title: 'x', deviceId: deviceOfFirst })).status, 200);
});

async function start(t: TestContext) {
  const installation = await install(t);
  return { installation, gateway: await installation.serve() };
}

async function keepBusy(target: Target): Promise<void> {
  for (let count = 0; count < 20; count += 1) await notify(target, { title: 'busy' });
}

/** Sends one request after another until the signal; returns the statuses. */
async function keepSending(target: Target, signal: AbortSignal): Promise<number[]> {
  const statuses: number[] = [];
  while (!signal.aborted) {
    statuses.push((await notify(target, { title: 'load' })).status);
    await pauseBetweenRequests();
  }
  return statuses;
}

/** Repeats the request until it gets the expected status, and checks the time since the command ended. */
async function answerWithin(
  target: Target,
  fields: object,
  wanted: number,
  since: number,
  t: TestContext,
  what: string,
) {
  const answer = await eventually(
    what,
    10_000,
    () => notify(target, { title: 'poll', ...fields }),
    ({ status }) => status === wanted,
  );
  const ms = performance.now() - since;
  t.diagnostic(`${what} after ${ms.toFixed()} ms`);
  assert.ok(ms <= promisedMs + slackMs, `${what} only after ${ms} ms`);
  return answer;
}
