// The three screens in wp-admin, in a real browser, with a real gateway.
import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { readAll, withStore } from '@tocsin/test-support/stored-notifications.ts';
import type { Locator, Page } from 'playwright-core';
import { expectAccessible, expectNoSidewaysScroll } from '../../packages/inbox/test/support/expectations.ts';
import { AdminBrowser } from './support/admin-browser.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';
import { WordPressSite } from './support/wordpress-site.ts';

const obstacle = wordpressObstacle() ?? AdminBrowser.obstacle;
const screen = (name = '') => `/wp-admin/admin.php?page=tocsin${name}`;
const runQueue = 'return Tocsin_Companion::get_instance()->runner()->run();';

suite('Screens of the companion', () => {
  let site: WordPressSite;
  let browser: AdminBrowser;
  let installation: Installation;
  let gateway: GatewayProcess;
  let key: string;
  let owner: string;

  before(async () => {
    if (obstacle !== null) return;
    installation = await Installation.create();
    [site, gateway, browser] = await Promise.all([WordPressSite.create(), installation.serve(), AdminBrowser.open()]);
    key = gateway.key;
    owner = gateway.line.firstRun?.owner ?? '';
    await site.serve();
  });

  after(async () => {
    await browser?.close();
    await installation?.remove();
    await site?.remove();
  });

  function inBrowser(name: string, run: (page: Page, t: TestContext) => Promise<void>): void {
    void test(name, async (t) => {
      if (canRun(t, obstacle)) await run(await browser.newPage(t, site), t);
    });
  }

  /** Stores address and key. */
  async function connect(url = gateway.api, secret = key): Promise<void> {
    const problems = await site.php<string>(
      `$connection = Tocsin_Companion::get_instance()->connection();
      return $connection->save_url( $input['url'] ) . $connection->save_key( $input['key'] );`,
      { url, key: secret },
    );
    assert.equal(problems, '');
  }

  async function received(title: string) {
    const { notifications } = await withStore(installation.dataDir, (store) => readAll(store, owner));
    return notifications.filter(({ content }) => content.title === title);
  }

  inBrowser(
    'saves address and key, shows the result of the monitoring check, and never shows the key again',
    async (page) => {
      await page.goto(screen());
      assert.ok(await page.getByRole('button', { name: 'Send monitoring check' }).isDisabled());
      await page.getByLabel('Gateway address').fill(gateway.api);
      await page.getByLabel('API key').fill(key);
      await page.getByRole('button', { name: 'Save connection' }).click();
      await page.getByText('Connection saved.').waitFor();
      await page.getByText(/Key stored on/).waitFor();
      assert.equal(await page.getByLabel('API key').inputValue(), '');

      await page.getByRole('button', { name: 'Send monitoring check' }).click();
      await page.getByText('The gateway accepted the monitoring check.').waitFor();
      await page.getByText('MQTT: published to 1 device').waitFor();
      assert.ok(!(await page.content()).includes(key));
      await expectAccessible(page, '#tocsin');
      assert.equal((await received('Monitoring check from A test site')).length, 1);

      await page.getByRole('button', { name: 'Save connection' }).click();
      await page.getByText('Connection saved.').waitFor();
      await page.getByRole('button', { name: 'Send monitoring check' }).click();
      await page.getByText('The gateway accepted the monitoring check.').waitFor();

      await page.getByLabel('Remove the stored key').check();
      await page.getByRole('button', { name: 'Save connection' }).click();
      await page.getByText('Begins with svc_.').waitFor();
    },
  );

  inBrowser('a failed monitoring check shows the reason and what to do', async (page) => {
    const expected: [url: string, key: string, message: RegExp][] = [
      [gateway.api, `svc_${'x'.repeat(38)}`, /Invalid API key/],
      [site.url, key, /does not look like a Tocsin gateway/],
      ['http://127.0.0.1:9', key, /The gateway is unreachable/],
    ];
    for (const [url, secret, message] of expected) {
      await connect(url, secret);
      await page.goto(screen());
      await page.getByRole('button', { name: 'Send monitoring check' }).click();
      await page.getByRole('alert').getByText(message).waitFor();
      assert.ok(!(await page.content()).includes(secret));
    }
    await page.getByLabel('Gateway address').fill('http://gateway.example.com');
    await page.getByLabel('API key').fill('no key at all');
    await page.getByRole('button', { name: 'Save connection' }).click();
    await page.getByText('The API key must begin with svc_').waitFor();
    assert.equal(await page.getByLabel('Gateway address').inputValue(), 'http://127.0.0.1:9', 'nothing was saved');
    await page.getByLabel('Gateway address').fill('http://gateway.example.com');
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Save connection' }).click();
    await page.getByText('The API key and the notifications are sent to gateway.example.com unencrypted.').waitFor();
  });

  inBrowser('enables a template and edits its text, and a published post is sent with that text', async (page) => {
    await connect();
    await page.goto(screen('-templates'));
    const template = published(page);
    await template.getByRole('switch').check();
    await template.getByText('Text and severity').click();
    await template.getByRole('textbox', { name: 'Title' }).fill('Fresh on {site_name}');
    await template.getByRole('textbox', { name: 'Text' }).fill('Read this: ');
    await template.getByRole('button', { name: 'Insert {post.title}' }).click();
    await template.getByLabel('Severity').selectOption('warning');
    await expectAccessible(page, '#tocsin');
    await page.getByRole('button', { name: 'Save changes' }).first().click();
    await page.getByText('Templates saved.').waitFor();
    assert.ok(await template.getByRole('switch').isChecked());

    await site.wp('post', 'create', '--post_title=Bells & whistles', '--post_status=publish');
    await site.php(runQueue);
    const [notification] = await eventually(
      'the notification arrives',
      15_000,
      () => received('Fresh on A test site'),
      ({ length }) => length === 1,
    );
    assert.equal(notification?.content.body, 'Read this: Bells & whistles');
    assert.equal(notification?.content.severity, 'warning');

    await page.goto(screen('-log'));
    const row = page.getByRole('row').filter({ hasText: 'Fresh on A test site' });
    await row.getByText('Sent', { exact: true }).waitFor();
    await row.locator('summary').click();
    await row.getByText('Read this: Bells & whistles').waitFor();
    await row.getByText(notification?.id ?? '').waitFor();
    await expectAccessible(page, '#tocsin');
  });

  inBrowser(
    'an example is queued like a real event and marked as an example; a reset restores the default text',
    async (page) => {
      await connect();
      await page.goto(screen('-templates'));
      const template = published(page);
      await template.getByText('Text and severity').click();
      const defaultTitle = await site.php<string>(
        `return Tocsin_Companion::get_instance()->templates()->find( 'post_published' )->default_texts()['title'];`,
      );
      await template.getByRole('textbox', { name: 'Title' }).fill('A sample of {post.title}');
      await template.getByRole('button', { name: 'Save and send an example' }).click();
      await page.getByText('An example of').waitFor();
      await site.php(runQueue);
      const [example] = await eventually(
        'the example arrives',
        15_000,
        () => received('Example: A sample of [post title]'),
        ({ length }) => length === 1,
      );
      assert.equal(example?.content.data.example, true);

      await template.getByText('Text and severity').click();
      await template.getByRole('button', { name: 'Reset to default' }).click();
      await page.getByText('was reset to its default text.').waitFor();
      await template.getByText('Text and severity').click();
      assert.equal(await template.getByRole('textbox', { name: 'Title' }).inputValue(), defaultTitle);
    },
  );

  inBrowser('during a downtime the log shows waiting events with the reason, and can send them again', async (page) => {
    await connect();
    const port = new URL(gateway.api).port;
    await gateway.stop();
    await site.php(
      `Tocsin_Companion::get_instance()->queue()->add( array( 'template_id' => 'unregistered', 'title' => 'Ding', 'body' => '', 'severity' => '', 'category' => 'info', 'payload' => array( 'a' => array( 'b' => 'deep' ) ), 'occurred_at' => Tocsin_Queue::now() ) );
      Tocsin_Companion::get_instance()->queue()->flush();
      return Tocsin_Companion::get_instance()->runner()->run();`,
    );
    await page.goto(screen('-log'));
    const row = page.getByRole('row').filter({ hasText: 'Ding' });
    await row.getByText(/^Waiting: next attempt in \d+ seconds?$/).waitFor();
    await row.getByText(/The gateway is unreachable/).waitFor();
    await expectAccessible(page, '#tocsin');
    await page.goto(screen());
    await page.getByRole('link', { name: '1 Waiting' }).click();
    await row.locator('summary').click();
    await row.getByText('deep').waitFor();

    gateway = await installation.serve({ TOCSIN_PORT: port });
    await row.hover();
    await row.getByRole('link', { name: 'Send now: Ding' }).click();
    await page.getByText('1 event is being sent again.').waitFor();
    await site.php(runQueue);
    await eventually(
      'the event is sent',
      15_000,
      () => received('Ding'),
      ({ length }) => length === 1,
    );
    await page.goto(screen('-log&s=Ding'));
    await row.getByText('Sent', { exact: true }).waitFor();

    await row.getByRole('checkbox', { name: 'Select Ding' }).check();
    await page.getByRole('button', { name: 'Send selected again' }).first().click();
    await page.getByText('1 event is being sent again.').waitFor();
    await site.php(runQueue);
    await eventually(
      'the event is sent again',
      15_000,
      () => received('Ding'),
      ({ length }) => length === 2,
    );
  });

  inBrowser('the log can be searched and has a setting for the events per page', async (page) => {
    await page.goto(screen('-log&s=nothing-has-this-name'));
    await page.getByText('No event matches.').waitFor();
    await page.getByRole('button', { name: 'Screen Options' }).click();
    await page.getByLabel('Events per page').fill('1');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.goto(screen('-log'));
    assert.equal(await page.locator('#the-list > tr').count(), 1);
  });

  void test('the screens work without JavaScript and fit on a small screen', async (t) => {
    if (!canRun(t, obstacle)) return;
    const page = await browser.newPage(t, site, { javaScriptEnabled: false, viewport: { width: 390, height: 800 } });
    await page.goto(screen('-templates'));
    const template = published(page);
    const wasOn = await template.getByRole('switch').isChecked();
    await template.getByRole('switch').click();
    await page.getByRole('button', { name: 'Save changes' }).first().click();
    await page.getByText('Templates saved.').waitFor();
    assert.equal(await template.getByRole('switch').isChecked(), !wasOn);
    const scripted = await browser.newPage(t, site, { viewport: { width: 390, height: 800 } });
    for (const name of ['', '-templates', '-log']) {
      await scripted.goto(screen(name));
      await expectNoSidewaysScroll(scripted);
    }
  });
});

function published(page: Page): Locator {
  return page.getByRole('group', { name: 'Post published', exact: true });
}
