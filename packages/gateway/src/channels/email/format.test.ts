import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { severities } from '@tocsin/contract';
import type { Notification } from '../../usecases/ports/index.ts';
import { format } from './format.ts';

const notification: Notification = {
  id: '0198f3c2-7d00-7000-8000-00000000abcd',
  ownerId: 'owner',
  title: 'Disk almost full',
  body: 'Only 3 % left.\nAct now.',
  source: 'backup',
  category: 'task',
  severity: 'critical',
  data: {},
  createdAt: Date.UTC(2026, 6, 31, 14, 5, 9),
};

const mailOf = (changes: Partial<Notification>) => format({ ...notification, ...changes }, 'example.com');
const tagsOf = (html: string): string[] => html.match(/<[^>]*>/g) ?? [];

const hostileTexts = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"><svg onload=alert(1)>',
  "' onmouseover='alert(1)",
  '</title><script>alert(1)</script>',
  '</style></td></table><iframe src="https://evil.example">',
  '<a href="javascript:alert(1)">x</a>',
  'javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  '<!-- ',
  '-->',
  ']]><script>',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '<scr\u0000ipt>alert(1)</scr\u0000ipt>',
  '<style>@import "https://evil.example/x.css"</style>',
  '{{7*7}}<%= 1 %>',
  '\u202Egnp.exe',
  '\uD800',
];

suite('The content of a mail', () => {
  test('shows the severity in the subject, in the text and in the page, each with a colour of its own', () => {
    const colours = severities.map((severity) => {
      const { subject, text, html } = mailOf({ severity });
      assert.equal(subject, `[${severity.toUpperCase()}] Disk almost full`);
      assert.ok(text.startsWith(`${severity.toUpperCase()}: Disk almost full\n`));
      assert.ok(html.includes(`>${severity.toUpperCase()}</span>`));
      return /font-size:0;background:(#\w{6})/.exec(html)?.[1];
    });
    assert.equal(new Set(colours).size, severities.length);
    assert.ok(!colours.includes(undefined));
  });

  test('says nothing of a severity where there is none', () => {
    const { subject, text, html } = mailOf({ severity: null });
    assert.equal(subject, 'Disk almost full');
    assert.ok(text.startsWith('Disk almost full\n'));
    assert.ok(!html.includes('</span>'));
  });

  test('keeps the subject on one line and within bounds, whatever the title holds', () => {
    const { subject } = mailOf({ title: 'One\r\nBcc: eve@example.com\u2028two\u0085three\u0000\tfour \u202Efive' });
    assert.equal(subject, '[CRITICAL] One Bcc: eve@example.com two three four five');
    assert.equal(mailOf({ title: '\r\n\u0000' }).subject, '[CRITICAL] Notification');
    const long = mailOf({ title: '😀'.repeat(200) }).subject;
    assert.ok(long.length <= 180 && long.endsWith('😀…'), long);
    assert.ok(long.isWellFormed());
  });

  test('keeps the line breaks of the body', () => {
    const { text, html } = mailOf({ body: 'a\r\nb\rc\n\nd' });
    assert.ok(text.includes('\n\na\nb\nc\n\nd\n\n'));
    assert.ok(html.includes('>a<br>b<br>c<br><br>d</p>'));
  });

  test('lists the data in a table, with nested values as indented JSON', () => {
    const { text, html } = mailOf({
      data: { host: 'db-1', used: 97, ok: false, none: null, list: [], deep: { a: [1] } },
    });
    const cells = [...html.matchAll(/<th[^>]*>(.*?)<\/th><td[^>]*>(.*?)<\/td>/g)].map(([, name, value]) => [
      name,
      value,
    ]);
    assert.deepEqual(cells.slice(0, 5), [
      ['host', 'db-1'],
      ['used', '97'],
      ['ok', 'false'],
      ['none', 'null'],
      ['list', '[]'],
    ]);
    assert.match(
      cells[5]?.[1] ?? '',
      /^<div[^>]*>\{<br>&nbsp;&nbsp;&quot;a&quot;: \[<br>&nbsp;&nbsp;&nbsp;&nbsp;1<br>&nbsp;&nbsp;\]<br>\}<\/div>$/,
    );
    assert.ok(text.includes('host: db-1\nused: 97\nok: false\nnone: null\nlist: []\ndeep:\n  {\n    "a": [\n'));
  });

  test('shows only the table where the body is empty, and no table where there is no data', () => {
    const onlyTable = mailOf({ body: '', data: { host: 'db-1' } });
    assert.equal(onlyTable.html.match(/<p /g)?.length, 1, 'the line about the origin is the only paragraph');
    assert.ok(onlyTable.text.startsWith('CRITICAL: Disk almost full\n\nhost: db-1\n\nSource: backup\n'));
    assert.ok(!mailOf({ data: {} }).html.includes('<th'));
  });

  test('cuts long values, and counts the rows it leaves out', () => {
    const long = mailOf({ data: { log: 'x'.repeat(5000) } });
    assert.ok(long.html.includes(`>${'x'.repeat(999)}…</td>`));
    const many = mailOf({ data: Object.fromEntries(Array.from({ length: 130 }, (_, index) => [`k${index}`, index])) });
    assert.equal(many.html.match(/<th /g)?.length, 100);
    assert.ok(many.html.includes('>… and 30 more</p>'));
    assert.ok(many.text.includes('\n… and 30 more\n'));
  });

  test('stays below the size at which readers cut a mail off, however much data there is', () => {
    const data = Object.fromEntries(Array.from({ length: 256 }, (_, index) => [`key${index}`, 'word '.repeat(200)]));
    const { html } = mailOf({ body: 'x'.repeat(2000), data });
    assert.ok(Buffer.byteLength(html) < 102_000, `${Buffer.byteLength(html)} bytes`);
    assert.match(html, /… and \d+ more/);
  });

  test('tells where it comes from and when it was', () => {
    const { text, html } = mailOf({});
    assert.ok(text.endsWith('Source: backup\nCategory: task\nTime: 2026-07-31 14:05:09 UTC'));
    assert.ok(html.includes('Source: backup<br>Category: task<br>Time: 2026-07-31 14:05:09 UTC'));
  });

  for (const hostile of hostileTexts) {
    test(`takes ${JSON.stringify(hostile)} for text, wherever it stands`, () => {
      const fill = (word: string) => {
        const data = { [word]: word, plain: `see ${word}`, nested: { [word]: [word] } };
        return mailOf({ title: word, body: word, source: word, data }).html;
      };
      assert.deepEqual(tagsOf(fill(hostile)), tagsOf(fill('harmless')));
    });
  }

  test('shows addresses in the order that they have, with no slash that is none', () => {
    const hostile = 'See https://example.com/\u202egnp.live and https://bank.example\u2044a.evil.example/ for 1\u20442';
    const { text, html } = mailOf({ body: hostile, data: { value: 'https://example.com/\u202egnp.live' } });
    for (const form of [text, html]) {
      assert.ok(
        form.includes('See https://example.com/gnp.live and https://bank.example\ufffda.evil.example/ for 1\u20442'),
      );
      assert.doesNotMatch(form, /[\u202a-\u202e\u2066-\u2069]/);
    }
    assert.match(html, /<a [^>]*href="https:\/\/example\.com\/gnp\.live"[^>]*>https:\/\/example\.com\/gnp\.live<\/a>/);
  });

  test('links whole http and https addresses and nothing else', () => {
    const linksOf = (value: string): string[] => mailOf({ data: { value } }).html.match(/<a [^>]*>/g) ?? [];
    for (const address of ['https://example.com/a?b=1&c=2', 'http://example.com', 'https://example.com/%C3%A9']) {
      const [link, ...more] = linksOf(address);
      assert.ok(link?.includes(`href="${address.replaceAll('&', '&amp;')}"`), address);
      assert.deepEqual(more, []);
    }
    for (const address of [
      'javascript:alert(1)',
      'https://x" onclick="alert(1)',
      'see https://example.com',
      'ftp://example.com',
      'https://',
      'https://bank.example@evil.example/',
      'https:\\\\evil.example',
      'data:text/html,x',
      'HTTPS://example.com',
      'https://EXAMPLE.com/',
      'https://example.com/a/../b',
      'https://example.com:443/',
      'https://bank.example\u2044login.evil.example/',
      'https://bank.example\uff0flogin.evil.example/',
      'https://b\u0430nk.example/',
      'https://example.com/\u200b',
      'https://1.1/',
      `https://example.com/${'x'.repeat(2000)}`,
    ]) {
      assert.deepEqual(linksOf(address), [], address);
    }
  });

  test('loads nothing from anywhere and runs nothing', () => {
    const { html } = mailOf({ data: { picture: 'https://example.com/x.png' } });
    assert.doesNotMatch(html, /<(script|img|link|iframe|object|embed|form|video|audio|base)\b/i);
    assert.doesNotMatch(html, /url\(|@import|\bsrc=|\son\w+=/i);
  });

  test('can be read in dark mode and on a phone', () => {
    const { html } = mailOf({});
    assert.ok(html.includes('<meta name="color-scheme" content="light dark">'));
    assert.ok(html.includes('@media (prefers-color-scheme: dark)'));
    assert.ok(html.includes('<meta name="viewport" content="width=device-width,initial-scale=1">'));
    assert.ok(html.includes('max-width:600px'));
  });

  test('marks errors as urgent and leaves the rest alone', () => {
    const importanceOf = (severity: Notification['severity']) => mailOf({ severity }).headers.Importance;
    assert.deepEqual([...severities, null].map(importanceOf), [undefined, undefined, 'high', 'high', undefined]);
  });

  test('shows a message that stands in for the body once', () => {
    const { text, html } = mailOf({ body: 'Disk is full', data: { message: ' Disk is full ', host: 'db-1' } });
    for (const content of [text, html]) {
      assert.equal(content.split('Disk is full').length - 1, 1);
      assert.ok(content.includes('db-1'));
    }
  });

  test('has an id that depends on the notification alone', () => {
    assert.equal(mailOf({}).messageId, '<0198f3c2-7d00-7000-8000-00000000abcd@example.com>');
    assert.equal(mailOf({ title: 'Other' }).messageId, mailOf({}).messageId);
  });
});
