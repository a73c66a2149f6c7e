// Signatures of GitHub and of other senders that sign the raw body with an HMAC-SHA256 in hexadecimal digits.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { suite, test } from 'node:test';
import { isSigning, signatureProblem } from '../src/senders/presets/index.ts';
import { bodyOfQuery, readEventBody } from '../src/senders/read-body.ts';

type Headers = Record<string, string>;

const secret = 'a secret of the test';

async function problemOf(
  preset: string,
  body: string | Buffer,
  headers: Headers,
  key = secret,
): Promise<string | null> {
  const rawBody = Buffer.from(body);
  const request = {
    method: 'POST',
    path: '',
    query: new URLSearchParams(),
    headers,
    body: await read(rawBody, headers),
  };
  return signatureProblem(preset, { request, rawBody, secret: key, now: 0 });
}

function read(rawBody: Buffer, headers: Headers): ReturnType<typeof readEventBody> {
  return readEventBody(rawBody, headers);
}

function hmac(body: string | Buffer, key = secret): string {
  return createHmac('sha256', key).update(body).digest('hex');
}

/** Sender → the headers of a signed body. */
const signedHeaders: Record<string, (body: string | Buffer, key?: string) => Headers> = {
  bitbucket: (body, key) => ({ 'x-hub-signature': `sha256=${hmac(body, key)}` }),
  gitea: (body, key) => ({ 'x-gitea-signature': hmac(body, key) }),
  github: (body, key) => ({ 'x-hub-signature-256': `sha256=${hmac(body, key)}` }),
  linear: (body, key) => ({ 'linear-signature': hmac(body, key) }),
};

for (const [preset, sign] of Object.entries(signedHeaders)) {
  suite(`signatures of ${preset}`, () => {
    const body = '{"action":"opened","text":"Grüße","webhookTimestamp":0}';
    const [header = ''] = Object.keys(sign(body));

    test('a valid signature is accepted', async () => {
      assert.ok(isSigning(preset));
      assert.equal(await problemOf(preset, body, sign(body)), null);
    });

    test('the bytes are signed, not the text that they decode to', async () => {
      const bytes = Buffer.from('{"text":"Gr\xfc\xdfe","webhookTimestamp":0}', 'latin1');
      assert.equal(await problemOf(preset, bytes, sign(bytes)), null);
      assert.notEqual(await problemOf(preset, `${body}\n`, sign(body)), null);
    });

    test('a missing, empty, malformed or wrong signature is a problem', async () => {
      const right = sign(body)[header] ?? '';
      const wrong = [
        undefined,
        '',
        ' ',
        'sha256=',
        right.slice(0, -1),
        `${right}0`,
        right.replace(/.$/, 'g'),
        'ü'.repeat(64),
      ];
      for (const value of [...wrong, hmac('another body'), sign(body, 'another secret')[header], `${right},${right}`]) {
        const headers: Headers = value === undefined ? {} : { [header]: value };
        assert.equal(typeof (await problemOf(preset, body, headers)), 'string', String(value));
      }
    });
  });
}

suite('published vectors', () => {
  // https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries, "Testing the webhook payload validation".
  test('GitHub', async () => {
    const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
    const headers = { 'x-hub-signature-256': signature };
    assert.equal(await problemOf('github', 'Hello, World!', headers, "It's a Secret to Everybody"), null);
  });

  // The vector that Atlassian publishes for X-Hub-Signature.
  test('Bitbucket', async () => {
    const signature = 'sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9';
    const headers = { 'x-hub-signature': signature };
    assert.equal(await problemOf('bitbucket', 'Hello World!', headers, "It's a Secret to Everybody"), null);
  });
});

suite('Gitea and Forgejo', () => {
  const body = '{"ref":"refs/heads/main","text":"Grüße & mehr"}';

  test('each header with a signature is enough', async () => {
    assert.equal(await problemOf('gitea', body, { 'x-forgejo-signature': hmac(body) }), null);
    assert.equal(await problemOf('gitea', body, { 'x-hub-signature-256': `sha256=${hmac(body)}` }), null);
    const headers = { 'x-gitea-signature': '', 'x-forgejo-signature': hmac(body), 'x-hub-signature-256': 'sha256=' };
    assert.equal(await problemOf('gitea', body, headers), null);
  });

  // https://github.com/go-gitea/gitea/blob/main/services/webhook/deliver.go signs the payload, also if a form wraps it.
  test('in a form the JSON is signed', async () => {
    const form = new URLSearchParams({ payload: body }).toString();
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    assert.equal(await problemOf('gitea', form, { ...type, 'x-gitea-signature': hmac(body) }), null);
    assert.notEqual(await problemOf('gitea', form, { ...type, 'x-gitea-signature': hmac(form) }), null);
    const changed = new URLSearchParams({ payload: body.replace('main', 'fork') }).toString();
    assert.notEqual(await problemOf('gitea', changed, { ...type, 'x-gitea-signature': hmac(body) }), null);
  });

  test('with GET the JSON in the query is signed', () => {
    const query = new URLSearchParams({ payload: body });
    const problem = (signature: string) => {
      const request = { method: 'GET', path: '', query, headers: { 'x-gitea-signature': signature } };
      const signed = { request: { ...request, body: bodyOfQuery(query) }, rawBody: Buffer.alloc(0), secret, now: 0 };
      return signatureProblem('gitea', signed);
    };
    assert.equal(problem(hmac(body)), null);
    assert.equal(typeof problem(hmac('')), 'string');
  });

  test('the empty signatures of a webhook without a secret are none', async () => {
    const headers = { 'x-gitea-signature': '', 'x-forgejo-signature': '', 'x-hub-signature-256': 'sha256=' };
    assert.equal(typeof (await problemOf('gitea', body, headers)), 'string');
    assert.equal(typeof (await problemOf('gitea', body, {})), 'string');
  });
});

suite('GitLab', () => {
  test('the secret token is compared', async () => {
    assert.equal(await problemOf('gitlab', '{}', { 'x-gitlab-token': secret }), null);
    for (const token of ['', ' ', `${secret} `, secret.slice(1), 'ü']) {
      assert.equal(typeof (await problemOf('gitlab', '{}', { 'x-gitlab-token': token })), 'string', token);
    }
    assert.equal(typeof (await problemOf('gitlab', '{}', {})), 'string');
  });

  test('a signing token is checked by Standard Webhooks, and is not accepted as a secret token', async () => {
    const key = Buffer.alloc(32, 7);
    const signingToken = `whsec_${key.toString('base64')}`;
    const signature = createHmac('sha256', key).update('msg_1.0.{}').digest('base64');
    const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': '0', 'webhook-signature': `v1,${signature}` };
    assert.equal(await problemOf('gitlab', '{}', headers, signingToken), null);
    assert.equal(typeof (await problemOf('gitlab', '{"a":1}', headers, signingToken)), 'string');
    assert.equal(typeof (await problemOf('gitlab', '{}', { 'x-gitlab-token': signingToken }, signingToken)), 'string');
  });
});

suite('Linear', () => {
  // packages/sdk/src/webhooks/client.ts of https://github.com/linear/linear allows one minute in both directions.
  test('a signature is valid for a minute', async () => {
    const problemAt = (timestamp: string) => {
      const body = `{"webhookTimestamp":${timestamp}}`;
      return problemOf('linear', body, { 'linear-signature': hmac(body) });
    };
    for (const timestamp of ['0', '60000', '-60000']) assert.equal(await problemAt(timestamp), null, timestamp);
    for (const timestamp of ['60001', '-60001', 'null', '"0"', '1e999']) {
      assert.equal(typeof (await problemAt(timestamp)), 'string', timestamp);
    }
  });

  test('a body without a timestamp is refused', async () => {
    for (const body of ['{}', '[]', 'text']) {
      assert.equal(typeof (await problemOf('linear', body, { 'linear-signature': hmac(body) })), 'string', body);
    }
  });
});
