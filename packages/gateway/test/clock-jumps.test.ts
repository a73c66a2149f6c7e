// A clock that jumps while a server runs, and is corrected: queued deliveries are sent, and none becomes dead.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { fakeClockObstacle, JumpingClock, withClockOff } from '@tocsin/test-support/fake-clock.ts';
import { installWithSmtp, serveWithEmail } from '@tocsin/test-support/install.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';

interface Waiting {
  attempts: number;
  state: string;
}

for (const by of ['+2d', '-2d']) {
  test(`Queued deliveries survive a clock that is off by ${by} for a moment`, { timeout: 240_000 }, async (t) => {
    if (!canRun(t, fakeClockObstacle())) return;
    const { installation, smtp } = await installWithSmtp(t, {
      TOCSIN_EMAIL_TIMEOUT_MS: '2000',
    });
    const clock = new JumpingClock(join(installation.dataDir, 'clock'));
    const gateway = await serveWithEmail(installation, clock.environment);
    await smtp.kill();
    const titles = Array.from({ length: 20 }, (_, count) => `waiting-${count}`);
    for (const title of titles) {
      const { body } = await notify(gateway, { title, sendMqtt: false });
      assert.equal(body.stored, true);
    }
    const list = () => installation.json<Waiting[]>('delivery', 'list');
    const turns = async () => Math.min(...(await list()).map(({ attempts }) => attempts));

    clock.setOff(by);
    const before = await turns();
    await eventually('each of them was attempted under the wrong clock', 60_000, turns, (now) => now > before);
    const asked = gateway.log.length;
    clock.setOff('+0');
    await smtp.start();
    await eventually(
      'all emails arrive',
      120_000,
      () => titles.filter((title) => !smtp.emails.some(({ raw }) => new RegExp(`\\b${title}\\b`).test(raw))),
      (missing) => missing.length === 0,
    );
    assert.equal(smtp.emails.length, titles.length, 'none arrives twice');
    await eventually('no delivery is queued or dead', 30_000, list, (left) => left.length === 0);
    assert.doesNotMatch(gateway.log.slice(asked), /delivery dead/);
  });
}

test('Notifications accepted after a restart with the clock set back are sent after the queued ones', {
  timeout: 240_000,
}, async (t) => {
  if (!canRun(t, fakeClockObstacle())) return;
  const { installation, smtp } = await installWithSmtp(t, {
    TOCSIN_EMAIL_TIMEOUT_MS: '2000',
  });
  const gateway = await serveWithEmail(installation);
  const { key } = gateway;
  await smtp.kill();
  for (const title of ['one', 'two']) await notify(gateway, { title, sendMqtt: false });
  await gateway.stop();
  const { api } = await installation.serve(withClockOff('-1h'));
  for (const title of ['three', 'four']) await notify({ api, key }, { title, sendMqtt: false });
  await smtp.start();
  await eventually(
    'all emails arrive',
    120_000,
    () => smtp.emails.length,
    (count) => count === 4,
  );
  const titles = smtp.emails.map(({ raw }) => /^Subject: .*?(\w+)\r$/m.exec(raw)?.[1]);
  assert.deepEqual(titles, ['one', 'two', 'three', 'four']);
});
