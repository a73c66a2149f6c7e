// An upgrade finishes deliveries that the previous version started. The fixture was made by that version, and is unchanged:
// it was killed while email and FCM were down, one delivery was dead, one dispatch was interrupted, one device had never
// connected and another had a session with a message in flight. Its backup was taken then.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { RawClient, readPublish } from '@tocsin/test-support/embedded-raw-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { fakeClockObstacle, withClockOff } from '@tocsin/test-support/fake-clock.ts';
import type { Installation } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { FcmStandIn } from '@tocsin/test-support/push-fcm-stand-in.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { parseMessage } from '@tocsin/test-support/smtp-message.ts';
import { startSmtpServer, type TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import { databaseFileName, masterKeyFileName } from '../src/store/files/data-directory.ts';

interface SavedDevice {
  id: string;
  password: string;
  topic: string;
}

const folder = new URL('./fixtures/data-directory-in-flight/', import.meta.url);
const saved = JSON.parse(readFileSync(new URL('secrets.json', folder), 'utf8')) as {
  madeAt: number;
  masterKey: string;
  owner: string;
  key: string;
  secondOwner: { id: string; device: SavedDevice };
  devices: { neverConnected: SavedDevice; withSession: SavedDevice };
};
const unpack = (name: string): Buffer => gunzipSync(readFileSync(new URL(name, folder)));

/** Retries wait up to a minute after a failed attempt. */
const retriedWithinMs = 90_000;

const waiting = ['waiting 1', 'waiting 2', 'waiting 3'];
const dead = 'dead by email';

/** The settings of the installation, with its clock a minute after the fixture was made: nothing has expired. */
async function createInstallation(t: TestContext): Promise<{
  installation: Installation;
  smtpServer: TestSmtpServer;
  fcm: FcmStandIn;
}> {
  const behindSeconds = Math.round((Date.now() - saved.madeAt) / 1000) - 60;
  const fcm = await FcmStandIn.start({
    get now() {
      return Date.now() - behindSeconds * 1000;
    },
  });
  t.after(() => fcm.server.stop());
  const smtpServer = await startSmtpServer({});
  t.after(() => smtpServer.kill());
  const installation = await install(t, {
    ...withClockOff(`${behindSeconds > 0 ? '-' : '+'}${Math.abs(behindSeconds)}`),
    TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtpServer.port}`,
    TOCSIN_EMAIL_FROM: 'tocsin@example.com',
    ...fcm.environment,
  });
  await writeFile(join(installation.dataDir, masterKeyFileName), `${saved.masterKey}\n`, { mode: 0o600 });
  return { installation, smtpServer, fcm };
}

function titlesOfEmails(smtpServer: TestSmtpServer, recipient: string): string[] {
  const emails = smtpServer.emails.filter(({ recipients }) => recipients.includes(recipient));
  return emails.map(({ raw }) => parseMessage(raw).header('Subject') ?? '');
}

/** Connects as the device and acknowledges the messages that it gets, by title. */
async function connectDevice(
  t: TestContext,
  port: number,
  { id, password, topic }: SavedDevice,
  session?: { clientId: string },
): Promise<string[]> {
  const options = session === undefined ? {} : { ...session, clean: false };
  const client = await RawClient.signIn(port, { id, secret: password }, options);
  const titles: string[] = [];
  const ended = new AbortController();
  t.after(async () => {
    ended.abort();
    await client.end();
  });
  const receive = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      const { payload, messageId } = readPublish(await client.next('publish'));
      titles.push((JSON.parse(payload.toString()) as { title: string }).title);
      if (messageId !== null) client.confirm('puback', messageId);
    }
  };
  if (session === undefined) await client.subscribe([topic], 1);
  // The wait for another message ends with the connection.
  receive().catch(() => undefined);
  return titles;
}

const isComplete =
  (titles: readonly string[]) =>
  (arrived: readonly string[]): boolean =>
    titles.every((title) => arrived.includes(title));

test('Waiting, interrupted and queued deliveries of the previous version are delivered, in order', {
  timeout: 180_000,
}, async (t) => {
  if (!canRun(t, fakeClockObstacle())) return;
  const { installation, smtpServer, fcm } = await createInstallation(t);
  await writeFile(join(installation.dataDir, databaseFileName), unpack('database.gz'), { mode: 0o600 });
  const gateway = await installation.serve();
  const port = Number(new URL(gateway.line.mqtt as string).port);
  const neverConnected = await connectDevice(t, port, saved.devices.neverConnected);
  const withSession = await connectDevice(t, port, saved.devices.withSession, { clientId: 'kept' });
  const second = await connectDevice(t, port, saved.secondOwner.device);
  const expected: [string, () => string[], string[]][] = [
    ['the device that had never connected', () => neverConnected, ['delivered', 'in flight', ...waiting]],
    ['the device with a session', () => withSession, ['in flight', ...waiting]],
    ["the second owner's device", () => second, ['interrupted']],
    ["the owner's email", () => titlesOfEmails(smtpServer, 'owner@example.com'), waiting],
    ["the second owner's email", () => titlesOfEmails(smtpServer, 'second@example.com'), ['interrupted']],
    ["the owner's phone", () => fcm.accepted.map(({ notification }) => notification.title), waiting],
  ];
  for (const [receiver, arrived, titles] of expected) {
    await eventually(`${receiver} gets everything`, retriedWithinMs, arrived, isComplete(titles));
    assert.deepEqual(arrived(), titles, receiver);
  }
  const deliveries = () => installation.json<{ state: string; channel: string }[]>('delivery', 'list');
  const left = await eventually(
    'only the dead delivery is left',
    retriedWithinMs,
    deliveries,
    ({ length }) => length === 1,
  );
  assert.deepEqual(
    left.map(({ state, channel }) => ({ state, channel })),
    [{ state: 'dead', channel: 'email' }],
  );
  await installation.json('delivery', 'retry', '--all', '--owner', saved.owner);
  const emails = () => titlesOfEmails(smtpServer, 'owner@example.com');
  await eventually('the dead delivery is sent again', retriedWithinMs, emails, isComplete([dead]));
  const { exitCode, stdout } = await installation.run(['doctor', '--deep']);
  assert.equal(exitCode, 0, stdout);
});

test('A backup of the previous version is restored, and its waiting deliveries are delivered', {
  timeout: 180_000,
}, async (t) => {
  if (!canRun(t, fakeClockObstacle())) return;
  const { installation, smtpServer, fcm } = await createInstallation(t);
  const temporary = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
  t.after(() => rm(temporary, { recursive: true, force: true }));
  const backup = join(temporary, 'backup');
  await writeFile(backup, unpack('backup.gz'), { mode: 0o600 });
  const { exitCode, stderr } = await installation.run(['restore', backup]);
  assert.equal(exitCode, 0, stderr);
  const inbox = await installation.json<{ title: string }[]>('inbox', 'list', '--owner', saved.owner);
  assert.deepEqual(
    inbox.map(({ title }) => title),
    [...waiting.toReversed(), dead, 'in flight', 'delivered'],
  );
  await installation.serve();
  const emails = () => titlesOfEmails(smtpServer, 'owner@example.com');
  const pushed = () => fcm.accepted.map(({ notification }) => notification.title);
  await eventually('the emails arrive', retriedWithinMs, emails, isComplete(waiting));
  await eventually('the phone gets everything', retriedWithinMs, pushed, isComplete(waiting));
  assert.deepEqual([emails(), pushed()], [waiting, waiting]);
});
