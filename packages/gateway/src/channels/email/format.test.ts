import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type NotificationContent, severities } from '@tocsin/contract';
import type { Notification } from '../../usecases/ports/index.ts';
import { format } from './format.ts';

const notification: Notification = {
  id: '0198f3c2-7d00-7000-8000-00000000abcd',
  ownerId: 'owner',
  createdAt: Date.UTC(2026, 6, 31, 14, 5, 9),
  content: {
    title: 'Disk almost full',
    body: 'Only 3 % left.\nAct now.',
    source: 'backup',
    category: 'task',
    severity: 'critical',
    data: {},
  },
};

const formatWith = (changes: Partial<NotificationContent>) =>
  format({ ...notification, content: { ...notification.content, ...changes } }, 'example.com');
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

suite('The content of an email', () => {
  test('shows the severity in the subject, in the text and in the page, each with a colour of its own', () => {
    const colours = severities.map((severity) => {
      const { subject, text, html } = formatWith({ severity });
      assert.equal(subject, `[${severity.toUpperCase()}] Disk almost full`);
      assert.ok(text.startsWith(`${severity.toUpperCase()}: Disk almost full\n`));
      assert.ok(html.includes(`>${severity.toUpperCase()}</span>`));
      return /font-size:0;background:(#\w{6})/.exec(html)?.[1];
    });
    assert.equal(new Set(colours).size, severities.length);
    assert.ok(!colours.includes(undefined));
  });

  test('has no severity if the notification has none', () => {
    const { subject, text, html } = formatWith({ severity: null });
    assert.equal(subject, 'Disk almost full');
    assert.ok(text.startsWith('Disk almost full\n'));
    assert.ok(!html.includes('</span>'));
  });

  test('keeps the subject on one line and within its limit, whatever the title contains', () => {
    const { subject } = formatWith({ title: 'One\r\nBcc: eve@example.com\u2028two\u0085three\u0000\tfour \u202Efive' });
    assert.equal(subject, '[CRITICAL] One Bcc: eve@example.com two three four five');
    assert.equal(formatWith({ title: '\r\n\u0000' }).subject, '[CRITICAL] Notification');
    const long = formatWith({ title: '😀'.repeat(200) }).subject;
    assert.ok(long.length <= 180 && long.endsWith('😀…'), long);
    assert.ok(long.isWellFormed());
  });

  test('keeps the line breaks of the body', () => {
    const { text, html } = formatWith({ body: 'a\r\nb\rc\n\nd' });
    assert.ok(text.includes('\n\na\nb\nc\n\nd\n\n'));
    assert.ok(html.includes('>a<br>b<br>c<br><br>d</p>'));
  });

  test('lists the data in a table, with nested values as indented JSON', () => {
    const { text, html } = formatWith({
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

  test('shows only the table if the body is empty, and no table if there is no data', () => {
    const onlyTable = formatWith({ body: '', data: { host: 'db-1' } });
    assert.equal(onlyTable.html.match(/<p /g)?.length, 1, 'the line with the source is the only paragraph');
    assert.ok(onlyTable.text.startsWith('CRITICAL: Disk almost full\n\nhost: db-1\n\nSource: backup\n'));
    assert.ok(!formatWith({ data: {} }).html.includes('<th'));
  });

  test('truncates long values, and counts the omitted rows', () => {
    const long = formatWith({ data: { log: 'x'.repeat(5000) } });
    assert.ok(long.html.includes(`>${'x'.repeat(999)}…</td>`));
    const many = formatWith({
      data: Object.fromEntries(Array.from({ length: 130 }, (_, index) => [`k${index}`, index])),
    });
    assert.equal(many.html.match(/<th /g)?.length, 100);
    assert.ok(many.html.includes('>… and 30 more</p>'));
    assert.ok(many.text.includes('\n… and 30 more\n'));
  });

  test('stays below the size at which email clients truncate a message, however much data there is', () => {
    const data = Object.fromEntries(Array.from({ length: 256 }, (_, index) => [`key${index}`, 'word '.repeat(200)]));
    const { html } = formatWith({ body: 'x'.repeat(2000), data });
    assert.ok(Buffer.byteLength(html) < 102_000, `${Buffer.byteLength(html)} bytes`);
    assert.match(html, /… and \d+ more/);
  });

  test('shows source, category and time', () => {
    const { text, html } = formatWith({});
    assert.ok(text.endsWith('Source: backup\nCategory: task\nTime: 2026-07-31 14:05:09 UTC'));
    assert.ok(html.includes('Source: backup<br>Category: task<br>Time: 2026-07-31 14:05:09 UTC'));
  });

  for (const hostile of hostileTexts) {
    test(`treats ${JSON.stringify(hostile)} as text in every field`, () => {
      const fill = (word: string) => {
        const data = { [word]: word, plain: `see ${word}`, nested: { [word]: [word] } };
        return formatWith({ title: word, body: word, source: word, data }).html;
      };
      assert.deepEqual(tagsOf(fill(hostile)), tagsOf(fill('harmless')));
    });
  }

  test('shows URLs in logical order, and without characters that look like a slash', () => {
    const hostile = 'See https://example.com/\u202egnp.live and https://bank.example\u2044a.evil.example/ for 1\u20442';
    const { text, html } = formatWith({ body: hostile, data: { value: 'https://example.com/\u202egnp.live' } });
    for (const form of [text, html]) {
      assert.ok(
        form.includes('See https://example.com/gnp.live and https://bank.example\ufffda.evil.example/ for 1\u20442'),
      );
      assert.doesNotMatch(form, /[\u202a-\u202e\u2066-\u2069]/);
    }
    assert.match(html, /<a [^>]*href="https:\/\/example\.com\/gnp\.live"[^>]*>https:\/\/example\.com\/gnp\.live<\/a>/);
  });

  test('links complete http and https URLs and nothing else', () => {
    const linksOf = (value: string): string[] => formatWith({ data: { value } }).html.match(/<a [^>]*>/g) ?? [];
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

  test('loads no external resources and runs no scripts', () => {
    const { html } = formatWith({ data: { picture: 'https://example.com/x.png' } });
    assert.doesNotMatch(html, /<(script|img|link|iframe|object|embed|form|video|audio|base)\b/i);
    assert.doesNotMatch(html, /url\(|@import|\bsrc=|\son\w+=/i);
  });

  test('can be read in dark mode and on a phone', () => {
    const { html } = formatWith({});
    assert.ok(html.includes('<meta name="color-scheme" content="light dark">'));
    assert.ok(html.includes('@media (prefers-color-scheme: dark)'));
    assert.ok(html.includes('<meta name="viewport" content="width=device-width,initial-scale=1">'));
    assert.ok(html.includes('max-width:600px'));
  });

  test('sets the header Importance for errors only', () => {
    const importanceOf = (severity: NotificationContent['severity']) => formatWith({ severity }).headers.Importance;
    assert.deepEqual([...severities, null].map(importanceOf), [undefined, undefined, 'high', 'high', undefined]);
  });

  test('shows a message that was used as the body only once', () => {
    const { text, html } = formatWith({ body: 'Disk is full', data: { message: ' Disk is full ', host: 'db-1' } });
    for (const content of [text, html]) {
      assert.equal(content.split('Disk is full').length - 1, 1);
      assert.ok(content.includes('db-1'));
    }
  });

  test('has an id that depends on the notification alone', () => {
    assert.equal(formatWith({}).messageId, '<0198f3c2-7d00-7000-8000-00000000abcd@example.com>');
    assert.equal(formatWith({ title: 'Other' }).messageId, formatWith({}).messageId);
  });
});
