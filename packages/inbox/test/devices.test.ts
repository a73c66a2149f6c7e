// The devices page, with real MQTT clients and a push service.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, suite } from 'node:test';
import type { SessionInfo } from '@tocsin/contract/console';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { ReceivedPush } from '@tocsin/test-support/push-web-push-stand-in.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun, obstacleIn } from '@tocsin/test-support/requires.ts';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import type { Page } from 'playwright-core';
import { openInbox, phone } from './support/browser.ts';
import { expectAccessible, expectNoSidewaysScroll } from './support/expectations.ts';
import { type PushService, startPushService } from './support/push-service.ts';

suite('The devices page', () => {
  let push: PushService | undefined;
  const inbox = openInbox(async () => {
    push = await startPushService();
    return push.environment;
  });
  after(() => push?.stop());

  /** Registers a browser at the push service, which then reports the previous one as gone. */
  async function addBrowser(label: string): Promise<ReceivedPush[]> {
    const owner = await inbox.owner();
    const { body: session } = await owner.get<SessionInfo>('/api/session');
    assert.ok(push);
    const { subscription, received } = push.subscribe(session.service.webPushKey);
    const { status } = await owner.post('/api/push-targets', { label, subscription });
    assert.equal(status, 201);
    return received;
  }

  inbox.test('adds a device that receives over MQTT with the settings it shows', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/devices');
    await addDevice(page, 'Kitchen display');
    const [credentials, plain, webSocket] = await shownSettings(page);

    for (const address of [plain, webSocket]) {
      const client = await connect(address, credentials);
      t.after(() => client.endAsync(true));
      const received = new Promise<[string, Buffer]>((resolve) => {
        client.once('message', (topic, payload) => resolve([topic, payload]));
      });
      await client.subscribeAsync(credentials?.Topic ?? '', { qos: 1 });
      const { id } = await inbox.post({ title: 'To the kitchen' });
      const [topic, message] = await received;
      assert.equal(topic, credentials?.Topic);
      assert.equal(JSON.parse(message.toString()).id, id);
      await client.endAsync();
    }
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('heading', { name: 'Kitchen display' }).waitFor();
    // It is recorded in the background.
    const lastSeen = item(page, 'Kitchen display').getByText('Last seen');
    const reload = async (): Promise<number> => {
      await page.reload();
      await item(page, 'Kitchen display').waitFor();
      return lastSeen.count();
    };
    await eventually('the device was seen', 10_000, reload, (count) => count === 1);
  });

  inbox.test('shows a mosquitto_sub command that prints notifications when pasted', async (t) => {
    if (!canRun(t, obstacleIn('sh', ['-c', 'command -v mosquitto_sub']))) return;
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/devices');
    await addDevice(page, 'Terminal');
    const line = await page.getByRole('region', { name: 'the mosquitto_sub command' }).innerText();
    const child = spawn('bash', ['-c', `exec ${line} -C 1`], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill());
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    // Messages are not queued before it has subscribed, and it does not report when it has.
    const printed = await eventually(
      'a line of mosquitto_sub',
      10_000,
      async () => {
        await inbox.post({ title: 'To the terminal' });
        return output;
      },
      (text) => text !== '',
    );
    assert.match(printed, /"title":"To the terminal"/);
  });

  inbox.test('sends a test and shows its result; pauses and resumes a device', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true, expectedErrors: /status of 409/ });
    await page.goto('/devices');
    await addDevice(page, 'Siren');
    const [credentials] = await shownSettings(page);
    const deviceId = credentials?.['User name'] ?? '';
    await page.getByRole('button', { name: 'Done' }).click();
    await expectFocus(page, 'Add a device');
    const send = (): Promise<{ status: number }> => notify(inbox.gateway, { title: 'To the siren', deviceId });

    await page.getByRole('button', { name: 'Send a test: Siren' }).click();
    await item(page, 'Siren').getByText('Queued: the device has not acknowledged it yet.').waitFor();
    await expectFocus(page, 'Send a test: Siren');

    await page.getByRole('button', { name: 'Pause: Siren' }).click();
    await item(page, 'Siren').getByText('Paused', { exact: true }).waitFor();
    await expectFocus(page, 'Resume: Siren');
    await eventually('a refusal', 3000, send, ({ status }) => status === 409);

    await page.getByRole('button', { name: 'Resume: Siren' }).click();
    await item(page, 'Siren').getByText('Active', { exact: true }).waitFor();
    await eventually('a success', 3000, send, ({ status }) => status === 200);

    await page.getByRole('button', { name: 'More actions for Siren' }).click();
    await page.getByRole('button', { name: 'Deactivate: Siren' }).click();
    await item(page, 'Siren').getByText('Inactive', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Activate: Siren' }).click();
    await item(page, 'Siren').getByText('Active', { exact: true }).waitFor();
  });

  inbox.test('revokes the old password with a new one; shows a new name and a deletion immediately', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/devices');
    await addDevice(page, 'Lamp');
    const [before, address] = await shownSettings(page);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'More actions for Lamp' }).click();
    await page.getByRole('button', { name: 'New password: Lamp' }).click();
    await page.getByRole('button', { name: 'Create a new password' }).click();
    await page.getByRole('heading', { name: 'Connect Lamp' }).waitFor();
    const [after] = await shownSettings(page);
    assert.notEqual(after?.Password, before?.Password);
    await assert.rejects(connect(address, before), /Not authorized|Bad username or password/i);
    await (await connect(address, after)).endAsync();

    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Rename: Lamp' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('<b>Bedside</b> lamp');
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await item(page, '<b>Bedside</b> lamp').waitFor();
    await expectFocus(page, 'Rename: <b>Bedside</b> lamp');

    await page.getByRole('button', { name: 'Delete: <b>Bedside</b> lamp' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await item(page, '<b>Bedside</b> lamp').waitFor({ state: 'detached' });
    await assert.rejects(connect(address, after), /Not authorized|Bad username or password/i);
  });

  inbox.test('lists browsers with push, tests them, explains an expired subscription, and removes it', async (t) => {
    await addBrowser('Old phone');
    const received = await addBrowser('New phone');
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/devices');
    await page.getByRole('button', { name: 'Send a test to New phone' }).click();
    await item(page, 'New phone').getByText('The push service accepted it.').waitFor();
    assert.equal(JSON.parse(received[0]?.text ?? '').title, 'Test from Tocsin');

    await page.getByRole('button', { name: 'Send a test to Old phone' }).click();
    await item(page, 'Old phone').getByText('The test was not sent.').waitFor();
    await item(page, 'Old phone').getByText('Disabled').waitFor();
    await item(page, 'Old phone').getByText('the browser was reset').waitFor();
    await page.getByRole('button', { name: 'Remove Old phone' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await item(page, 'Old phone').waitFor({ state: 'detached' });
    await item(page, 'New phone').waitFor();
  });

  inbox.test('shows the error of a name at its field', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true, expectedErrors: /status of 400/ });
    await page.goto('/devices');
    await page.getByRole('button', { name: 'Add a device' }).click();
    const name = page.getByRole('textbox', { name: 'Name' });
    assert.equal(await name.evaluate((input) => input === document.activeElement), true);
    await name.fill('   ');
    await name.press('Enter');
    await page.getByRole('alert').getByText('This must be text of 1 to 200 characters.').waitFor();
    assert.equal(await name.getAttribute('aria-invalid'), 'true');
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    inbox.test(`is accessible and fits a phone, ${colorScheme}`, async (t) => {
      const page = await inbox.newPage(t, { signedIn: true, viewport: phone, colorScheme });
      await page.goto('/devices');
      await page
        .getByRole('button', { name: /^More actions for/ })
        .first()
        .click();
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
      await addDevice(page, `Phone, ${colorScheme}`);
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
    });
  }
});

type Shown = Record<string, string>;

/** Adds a device and leaves the dialog with its settings open. */
async function addDevice(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Add a device' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill(name);
  await page.getByRole('button', { name: 'Add and show settings' }).click();
  await page.getByRole('heading', { name: `Connect ${name}` }).waitFor();
}

/** The settings as the dialog shows them: credentials, then one block per address. */
function shownSettings(page: Page): Promise<Shown[]> {
  return page
    .getByRole('dialog')
    .locator('dl')
    .evaluateAll((lists) =>
      lists.map((list) =>
        Object.fromEntries(
          [...list.querySelectorAll('div')].map((row) => [
            row.querySelector('dt')?.textContent ?? '',
            (row.querySelector('dd code') ?? row.querySelector('dd'))?.textContent ?? '',
          ]),
        ),
      ),
    );
}

/** Keyboard users continue from the focused button. */
async function expectFocus(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).and(page.locator(':focus')).waitFor();
}

function connect(address: Shown = {}, credentials: Shown = {}): Promise<MqttClient> {
  const path = address['WebSocket path'];
  const [plain, encrypted] = path === undefined ? (['mqtt', 'mqtts'] as const) : (['ws', 'wss'] as const);
  const options: IClientOptions = {
    protocol: address.Encryption === 'None' ? plain : encrypted,
    host: address.Host ?? '',
    port: Number(address.Port),
    ...(path !== undefined && { path }),
    username: credentials['User name'] ?? '',
    password: credentials.Password ?? '',
    reconnectPeriod: 0,
  };
  return mqtt.connectAsync(options);
}

function item(page: Page, name: string) {
  return page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) });
}
