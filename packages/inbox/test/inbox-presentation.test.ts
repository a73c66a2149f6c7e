// Presentation of the inbox: days, links, matches and delivery status.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { DeliveryEntry } from '@tocsin/contract/console';
import { createDayGroups } from '../src/inbox/day-groups.ts';
import { describeDelivery } from '../src/inbox/describe-delivery.ts';
import { highlight } from '../src/inbox/highlight.ts';
import { splitLinks } from '../src/inbox/text-links.ts';

suite('Day groups', () => {
  const labels = (zone: string, now: string, ...times: string[]): string[] =>
    createDayGroups('en-GB', zone)(
      times.map((time) => ({ createdAt: Date.parse(time) })),
      Date.parse(now),
    ).map(({ label, items }) => `${label}: ${items.length}`);

  test('are labelled today, yesterday, by weekday within a week, and then by date', () => {
    assert.deepEqual(
      labels(
        'UTC',
        '2026-03-11T12:00:00Z',
        '2026-03-11T11:00:00Z',
        '2026-03-11T00:00:00Z',
        '2026-03-10T23:59:59Z',
        '2026-03-06T08:00:00Z',
        '2026-03-04T08:00:00Z',
        '2025-12-31T08:00:00Z',
      ),
      ['Today: 2', 'Yesterday: 1', 'Friday: 1', 'Wed 4 March: 1', '31 December 2025: 1'],
    );
  });

  test('follow the time zone', () => {
    const times = ['2026-03-11T22:30:00Z', '2026-03-11T21:30:00Z'];
    assert.deepEqual(labels('UTC', '2026-03-11T23:00:00Z', ...times), ['Today: 2']);
    assert.deepEqual(labels('Europe/Helsinki', '2026-03-11T23:00:00Z', ...times), ['Today: 1', 'Yesterday: 1']);
  });

  test('follow the calendar across a change to daylight saving time', () => {
    // Berlin skips an hour on 29 March 2026: that day has 23 hours.
    assert.deepEqual(labels('Europe/Berlin', '2026-03-29T22:30:00Z', '2026-03-28T23:30:00Z', '2026-03-28T22:30:00Z'), [
      'Yesterday: 1',
      'Saturday: 1',
    ]);
  });
});

suite('Links', () => {
  const links = (content: string): (string | null)[] =>
    splitLinks(content).flatMap(({ text, href }) => (href === null ? [] : [text]));

  test('are http and https addresses, without the punctuation of the sentence', () => {
    assert.deepEqual(
      links('See https://a.example/x?y=1#z, (http://b.example/(c)) or "https://d.example". Then https://e.example!'),
      ['https://a.example/x?y=1#z', 'http://b.example/(c)', 'https://d.example', 'https://e.example'],
    );
  });

  test('are not made from anything else', () => {
    for (const content of [
      'javascript:alert(1)',
      'data:text/html,<script>alert(1)</script>',
      'ftp://a.example',
      '//a.example',
      'https://',
      'https://bank.example@evil.example/',
      'https://user:secret@evil.example/',
      'JaVaScRiPt://https',
    ]) {
      assert.deepEqual(links(content), [], content);
    }
  });

  test('end at bidi controls, so that the displayed address is the one that opens', () => {
    assert.deepEqual(links('https://a.example/\u202egpj.exe'), ['https://a.example/']);
  });

  test('preserve the whole text', () => {
    for (const content of [
      '',
      'no link',
      'https://a.example',
      'a https://a.example, b https://x@y c',
      '\ud800 https://a.example/\udfff',
    ]) {
      assert.equal(
        splitLinks(content)
          .map(({ text }) => text)
          .join(''),
        content,
      );
    }
  });
});

suite('Matches', () => {
  const marked = (content: string, query: string): string =>
    highlight(content, query)
      .map(({ text, isMatch }) => (isMatch ? `[${text}]` : text))
      .join('');

  test('are found ignoring case and accents', () => {
    assert.equal(marked('Backup of Köln, backup of koln', 'BACKUP kol'), '[Backup] of [Köl]n, [backup] of [kol]n');
    assert.equal(marked('Straße 🚲 ﬁle', 'strasse file'), '[Straße] 🚲 [ﬁle]');
    assert.equal(marked('Ko\u0308ln', 'oln'), 'K[o\u0308ln]');
  });

  test('preserve the whole text', () => {
    assert.equal(marked('<b>.*</b>', '.*'), '<b>[.*]</b>');
    assert.equal(marked('a', ''), 'a');
    assert.equal(marked('', 'a'), '');
    assert.equal(marked('\ud800x', 'x'), '\ud800[x]');
  });
});

suite('Delivery status', () => {
  const describe = (delivery: Partial<DeliveryEntry>): string => {
    const entry: DeliveryEntry = {
      channel: 'mqtt',
      target: 'd1',
      name: 'Kitchen',
      state: 'sent',
      retries: 0,
      nextAt: null,
      endedAt: null,
      error: null,
      ...delivery,
    };
    const { target, outcome, canRetry } = describeDelivery(entry, 1000, () => '14:05');
    return `${target}: ${outcome}${canRetry ? ' [retry]' : ''}`;
  };

  test('shows state, retries and error', () => {
    assert.equal(describe({ channel: 'push', name: 'Pixel 8' }), 'Push · Pixel 8: sent');
    assert.equal(
      describe({ channel: 'push', name: 'Pixel 8', retries: 1, error: 'busy' }),
      'Push · Pixel 8: sent after 1 retry',
    );
    assert.equal(
      describe({
        channel: 'email',
        target: '',
        name: null,
        state: 'waiting',
        retries: 2,
        nextAt: 2000,
        error: 'connection refused',
      }),
      'Email: retried 2 times, next attempt at 14:05: connection refused [retry]',
    );
    assert.equal(
      describe({ state: 'waiting', nextAt: 900, error: 'refused' }),
      'MQTT · Kitchen: waiting, next attempt shortly: refused [retry]',
    );
    assert.equal(
      describe({ state: 'dead', retries: 9, error: 'timed out' }),
      'MQTT · Kitchen: failed permanently after 9 retries: timed out [retry]',
    );
    assert.equal(describe({ state: 'gone', name: null }), 'MQTT · no longer registered: the target no longer exists');
    assert.equal(describe({ state: 'rejected', error: 'too large' }), 'MQTT · Kitchen: rejected: too large');
    assert.equal(describe({ state: 'sending' }), 'MQTT · Kitchen: sending');
    assert.equal(describe({ state: 'sent' }), 'MQTT · Kitchen: accepted by the broker');
    assert.equal(describe({ state: 'queued' }), 'MQTT · Kitchen: queued, not yet acknowledged by the device');
    assert.equal(describe({ state: 'delivered', endedAt: 900 }), 'MQTT · Kitchen: delivered at 14:05');
  });
});
