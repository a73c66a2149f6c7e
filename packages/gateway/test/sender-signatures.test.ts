// Signatures of senders, checked with the examples that the senders published.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { suite, test } from 'node:test';
import type { SignedRequest } from '../src/senders/event.ts';
import { shopifyProblem } from '../src/senders/signatures/shopify.ts';
import { slackProblem } from '../src/senders/signatures/slack.ts';
import { standardWebhooksProblem } from '../src/senders/signatures/standard-webhooks.ts';
import { stripeProblem } from '../src/senders/signatures/stripe.ts';

type Check = (signed: SignedRequest) => string | null;
type Headers = Record<string, string>;

interface Example {
  check: Check;
  secret: string;
  body: string;
  headers: Headers;
  /** The time of the example in seconds. */
  time: number;
}

function problemOf(example: Example): string | null {
  const { check, secret, body, headers, time } = example;
  const request = {
    method: 'POST',
    path: '',
    query: new URLSearchParams(),
    headers,
    body: { kind: 'text', value: body, text: body, droppedFiles: [] } as const,
  };
  return check({ request, rawBody: Buffer.from(body), secret, now: time * 1000 });
}

const standardWebhooks = {
  check: standardWebhooksProblem,
  body: '{"test": 2432232314}',
  time: 1614265330,
};

/** Examples of valid signatures, with the page or file that has them. */
const examples: Record<string, Example> = {
  // https://docs.svix.com/receiving/verifying-payloads/how-manual, and the tests of the Standard Webhooks libraries.
  'Standard Webhooks v1': {
    ...standardWebhooks,
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
  },
  'Standard Webhooks v1 with the headers of Svix': {
    ...standardWebhooks,
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    headers: {
      'svix-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'svix-timestamp': '1614265330',
      'svix-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
  },
  // test_asymmetric_key_signing of github.com/svix/svix-webhooks.
  'Standard Webhooks v1a': {
    ...standardWebhooks,
    secret: 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=',
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature':
        'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==',
    },
  },
  // https://docs.slack.dev/authentication/verifying-requests-from-slack
  Slack: {
    check: slackProblem,
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    body:
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar' +
      '&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.' +
      'com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc8' +
      '87a14d10d2c447fce8b6703c',
    headers: {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
    time: 1531420618,
  },
  // Stripe and Shopify publish their schemes without values: these are from `openssl dgst -sha256 -hmac SECRET`.
  Stripe: {
    check: stripeProblem,
    secret: 'whsec_0123456789abcdefghijklmnopqrstuv',
    body: '{"id":"evt_0001","object":"event"}',
    headers: {
      'stripe-signature': 't=1492774577,v0=6ffb,v1=0a7d538e1de26831a21efc99432af3011b8905912346f00a807e071733c6d18a',
    },
    time: 1492774577,
  },
  Shopify: {
    check: shopifyProblem,
    secret: 'shpss_0123456789abcdef',
    body: '{"id":"evt_0001","object":"event"}',
    headers: { 'x-shopify-hmac-sha256': 'h5I9hsRAswddK1/owN3ATVkJXOWjdse6zWU88zDnNB0=' },
    time: 1492774577,
  },
};

for (const [name, example] of Object.entries(examples)) {
  const signatureName = Object.keys(example.headers).find((header) => /signature|hmac/.test(header)) ?? '';
  const timestampName = Object.keys(example.headers).find((header) => /timestamp/.test(header));
  const signature = example.headers[signatureName] ?? '';
  const isTimed = timestampName !== undefined || signature.startsWith('t=');

  suite(`A signature of ${name}`, () => {
    const problemWith = (change: Partial<Example>) => problemOf({ ...example, ...change });
    const problemWithHeader = (header: string, value: string) =>
      problemWith({ headers: { ...example.headers, [header]: value } });

    test('is valid as it was published', () => {
      assert.equal(problemOf(example), null);
    });

    test('is not valid for another body or another secret', () => {
      assert.equal(typeof problemWith({ body: `${example.body} ` }), 'string');
      assert.equal(typeof problemWith({ body: '' }), 'string');
      const other = example.secret.replace(/[A-Za-z](?=.{4}$)/, (character) => (character === 'a' ? 'b' : 'a'));
      assert.notEqual(other, example.secret);
      assert.equal(typeof problemWith({ secret: other }), 'string');
    });

    test('is refused if it is missing, empty or malformed', () => {
      assert.equal(typeof problemWith({ headers: {} }), 'string');
      const malformed = ['', ' ', ',', '=', 'v1', 'v1,', 'v1=', 'v0=', 't=,v1=', 'v1,!', 'x'.repeat(10_000), 'é', '0'];
      for (const value of [...malformed, signature.slice(0, -4), `00${signature}`, signature.replace(/\d/, 'x')]) {
        assert.equal(typeof problemWithHeader(signatureName, value), 'string', value);
      }
      for (const header of Object.keys(example.headers)) assert.equal(typeof problemWithHeader(header, ''), 'string');
    });

    test(isTimed ? 'is refused five minutes later or earlier' : 'has no time', () => {
      for (const seconds of [-301, 301, 1e6]) {
        const problem = problemWith({ time: example.time + seconds });
        assert.equal(typeof problem, isTimed ? 'string' : 'object', String(seconds));
      }
      assert.equal(problemWith({ time: example.time + 299 }), null);
      assert.equal(problemWith({ time: example.time - 299 }), null);
      if (timestampName === undefined) return;
      for (const value of ['', 'now', '-1', '1e9', '9'.repeat(400), `${example.time}.0`]) {
        assert.equal(typeof problemWithHeader(timestampName, value), 'string', value);
      }
    });
  });
}

suite('Standard Webhooks', () => {
  const example = examples['Standard Webhooks v1'] as Example;
  const valid = example.headers['webhook-signature'] as string;
  const signatures = (value: string, secret = example.secret) =>
    problemOf({ ...example, secret, headers: { ...example.headers, 'webhook-signature': value } });

  test('accept any one of several signatures, as senders send them while they rotate a key', () => {
    assert.equal(signatures(`v1,${'A'.repeat(43)}= v2,x ${valid} v1a,AAAA`), null);
  });

  test('take the version from the secret: a valid v1 signature under another version is none', () => {
    assert.equal(typeof signatures(valid.replace('v1,', 'v2,')), 'string');
    assert.equal(typeof signatures(valid.replace('v1,', 'v1a,')), 'string');
    // The public key is no secret: an HMAC with it must not be accepted.
    const publicKey = '1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=';
    const content = `${example.headers['webhook-id']}.${example.time}.${example.body}`;
    const forged = createHmac('sha256', Buffer.from(publicKey, 'base64')).update(content).digest('base64');
    assert.equal(typeof signatures(`v1,${forged}`, `whpk_${publicKey}`), 'string');
    assert.equal(signatures(`v1,${forged}`, `whsec_${publicKey}`), null);
  });

  test('refuse everything if the secret of the hook is no key', () => {
    for (const secret of ['', 'whsec_', 'whpk_', 'whpk_AAAA', 'whsec_!', 'not base64 !']) {
      assert.equal(typeof signatures(valid, secret), 'string', secret);
    }
    assert.equal(signatures(valid, 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'), null);
  });
});
