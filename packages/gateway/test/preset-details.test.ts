// What the labels of the payload corpus cannot say about presets.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { JsonValue } from '@tocsin/contract';
import { severityOfColour } from '../src/senders/colour.ts';
import { isIgnored, type Preset, type SenderEvent, type SenderRequest } from '../src/senders/event.ts';
import { awsSns } from '../src/senders/presets/aws-sns.ts';
import { cloudEvents } from '../src/senders/presets/cloudevents.ts';
import { discord } from '../src/senders/presets/discord.ts';
import { autoPreset, choosePreset } from '../src/senders/presets/index.ts';
import { shopify } from '../src/senders/presets/shopify.ts';
import { slack } from '../src/senders/presets/slack.ts';
import { stripe } from '../src/senders/presets/stripe.ts';
import { readEventBody } from '../src/senders/read-body.ts';
import { readCorpus } from './corpus/read-corpus.ts';

type Headers = Record<string, string>;

function requestOf(value: JsonValue, headers: Headers = {}): SenderRequest {
  const body = { kind: 'json', value, text: JSON.stringify(value), droppedFiles: [] } as const;
  return { method: 'POST', path: '', query: new URLSearchParams(), headers, body };
}

function eventOf(preset: Preset, value: JsonValue, headers: Headers = {}): SenderEvent {
  const event = preset.read(requestOf(value, headers));
  assert.ok(event !== null && !isIgnored(event));
  return event;
}

const chosenFor = (value: JsonValue) => choosePreset(autoPreset, requestOf(value))?.name;

suite('Messages for chats', () => {
  test('lose the markup of Slack', () => {
    const text = '<!here> *Disk* of <https://example.com/nas|nas> &amp; <@U1>: `df -h` _now_ 2 * 3 * 4 snake_case_name';
    const { title, clickUrl } = eventOf(slack, { text });
    assert.equal(title, '@here Disk of nas & @U1: `df -h` now 2 * 3 * 4 snake_case_name');
    assert.equal(clickUrl, 'https://example.com/nas');
  });

  test('lose the markup of Discord', () => {
    const { title, body } = eventOf(discord, {
      content: '# **Build** 2 * 3 * 4 [7](https://example.com/7) `ok`\n_done_ by a_b_c',
    });
    assert.deepEqual([title, body], ['Build 2 * 3 * 4 7 ok', 'done by a_b_c']);
  });

  test('keep a first line that is too long for a title in the body', () => {
    const text = 'word '.repeat(100).trim();
    assert.equal(eventOf(slack, { text: `${text}\nmore` }).body, `${text}\nmore`);
    assert.equal(eventOf(slack, { text: 'short\nmore' }).body, 'more');
  });

  test('have the worst severity of their colours', () => {
    const colours = ['good', '#daa038', 'danger', '#36a64f'].map((color) => ({ color, text: color }));
    assert.equal(eventOf(slack, { attachments: colours }).severity, 'error');
    assert.equal(eventOf(slack, { attachments: colours.slice(0, 2) }).severity, 'warning');
  });

  test('read events that Slack sends and signs itself', () => {
    const event = { type: 'message', user: 'U1', text: 'The shop is closed' };
    const { title, idempotencyKey } = eventOf(slack, { type: 'event_callback', event_id: 'Ev1', event });
    assert.deepEqual([title, idempotencyKey], ['The shop is closed', 'Ev1']);
  });

  test('are recognized only if they have no members of other senders', () => {
    assert.equal(chosenFor({ text: 'a' }), 'slack');
    assert.equal(chosenFor({ content: 'a' }), 'discord');
    assert.equal(chosenFor({ text: 'a', level: 'error' }), undefined);
    assert.equal(chosenFor({ content: 'a', title: 'b' }), undefined);
    assert.equal(chosenFor({ text: 7 }), undefined);
  });

  test('without any text are left to the generic rule', () => {
    assert.equal(slack.read(requestOf({ attachments: [{}] })), null);
    assert.equal(discord.read(requestOf({ embeds: [] })), null);
  });

  test('red is an error, yellow and orange warn, green is good, other colours say nothing', () => {
    const severities = {
      f00: 'error',
      a30200: 'error',
      ff8c00: 'warning',
      ffff00: 'warning',
      '2eb886': 'info',
      '0f0': 'info',
    };
    for (const [digits, severity] of Object.entries(severities)) {
      const rgb = Number.parseInt(digits.length === 3 ? digits.replace(/./g, '$&$&') : digits, 16);
      assert.equal(severityOfColour(rgb), severity, digits);
    }
    for (const rgb of [0, 0xffffff, 0x808080, 0x439fe0, 0x9b59b6, -1, 1e12, Number.NaN]) {
      assert.equal(severityOfColour(rgb), null, String(rgb));
    }
  });
});

suite('Amazon SNS', () => {
  const envelope = { Type: 'Notification', TopicArn: 'arn:aws:sns:eu-central-1:0:alerts', MessageId: 'm1' };

  test('the confirmation of a subscription is left to the owner', () => {
    const request = requestOf({
      ...envelope,
      Type: 'SubscriptionConfirmation',
      SubscribeURL: 'https://sns.example.com/',
    });
    const event = awsSns.read(request);
    assert.ok(event !== null && !isIgnored(event));
    assert.equal(event.title, 'Confirm the subscription to alerts');
    assert.ok(!JSON.stringify(event).includes('https:'), 'the address is not a link');
  });

  test('with raw message delivery the body is the message', () => {
    const alarm = { AlarmName: 'cpu-high', NewStateValue: 'ALARM', AlarmArn: 'arn:1' };
    const { title, severity, threadKey } = eventOf(awsSns, alarm, { 'x-amz-sns-message-type': 'Notification' });
    assert.deepEqual([title, severity, threadKey], ['ALARM: cpu-high', 'error', 'arn:1']);
  });

  test('JSON of other programs is read by the generic rule, below the subject', () => {
    const Message = JSON.stringify({ title: 'inner', message: 'Disk is full', level: 'warning' });
    const event = eventOf(awsSns, { ...envelope, Message });
    assert.deepEqual([event.title, event.body, event.severity], ['inner', 'Disk is full', 'warning']);
    assert.equal(eventOf(awsSns, { ...envelope, Subject: 'Outer', Message }).title, 'Outer');
    assert.equal(eventOf(awsSns, { ...envelope, Message: '{not JSON' }).title, '{not JSON');
  });
});

suite('CloudEvents', () => {
  test('attributes in headers are decoded, and broken escapes kept', () => {
    const headers = { 'ce-specversion': '1.0', 'ce-id': '1', 'ce-source': '/a', 'ce-type': 'b' };
    assert.equal(eventOf(cloudEvents, 'text', { ...headers, 'ce-subject': 'K%C3%A4se' }).title, 'Käse');
    assert.equal(eventOf(cloudEvents, 'text', { ...headers, 'ce-subject': '100%' }).title, '100%');
  });

  test('a batch is one notification with the count of all events', () => {
    const events = Array.from({ length: 250 }, (_, index) => ({
      specversion: '1.0',
      id: String(index),
      source: '/a',
      type: 'b',
    }));
    const { title, idempotencyKey } = eventOf(cloudEvents, events);
    assert.equal(title, 'b and 249 more');
    assert.match(idempotencyKey ?? '', /^\/a 0\n\/a 1\n/);
    assert.equal(cloudEvents.read(requestOf([])), null);
  });
});

suite('Payments', () => {
  test('amounts have the decimals of their currency', () => {
    const amountOf = (amount: number, currency: string) =>
      eventOf(stripe, { type: 'payout.paid', data: { object: { amount, currency } } }).title;
    assert.equal(amountOf(1999, 'usd'), 'Payout paid: 19.99 USD');
    assert.equal(amountOf(500, 'JPY'), 'Payout paid: 500 JPY');
    assert.equal(amountOf(1234, 'kwd'), 'Payout paid: 1.234 KWD');
  });

  test('a lost dispute is over, but not good news', () => {
    const dispute = { type: 'charge.dispute.closed', data: { object: { id: 'dp_1', status: 'lost' } } };
    const { severity, resolved } = eventOf(stripe, dispute);
    assert.deepEqual([severity, resolved], ['warning', true]);
  });

  test('no notification has card data', async () => {
    for (const { sender, request } of readCorpus()) {
      if (sender !== 'stripe') continue;
      const body = await readEventBody(request.body, request.headers);
      const text = JSON.stringify(stripe.read({ ...requestOf({}), body }));
      assert.ok(!/visa|"0000"|2030/.test(text), text);
    }
  });

  test('a shop that is not at Shopify gets no link', () => {
    const headers = { 'x-shopify-topic': 'orders/paid', 'x-shopify-shop-domain': 'evil.example.com/x' };
    const { clickUrl, threadKey } = eventOf(shopify, { id: 7, name: '#7' }, headers);
    assert.deepEqual([clickUrl, threadKey], [undefined, 'order 7']);
  });
});
