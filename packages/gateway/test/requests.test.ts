// The fields of docs/callers.md#fields end to end: every fixture is sent to the running service.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { formExample, type JsonObject, jsonExamples, textExample } from '@tocsin/contract';
import fixtures from '@tocsin/contract/fixtures/requests.json' with { type: 'json' };
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { type Caller, createCaller } from '@tocsin/test-support/requests.ts';

interface Case {
  name: string;
  contentType: string | null;
  body: string;
  normalized?: JsonObject;
  answer?: JsonObject;
  error?: { status: number; code: string; fields?: string[] };
}

type Stored = {
  id: string;
  title: string;
  body: string;
  source: string;
  category: string;
  severity: string;
  data: object;
};

suite('A notification request', () => {
  let installation: Installation;
  let gateway: GatewayProcess;
  let caller: Caller;

  before(async () => {
    installation = await Installation.create();
    gateway = await installation.serve();
    // Without targets: this tests only how the gateway reads requests.
    await installation.json('device', 'delete', gateway.line.firstRun?.device.id as string);
    caller = await createCaller(gateway.api, gateway.key);
  });
  after(() => installation.remove());

  /** Without a Content-Type, since fetch would add one to a text. */
  const post = (contentType: string | null, body: string) =>
    caller.send({
      method: 'POST',
      headers: { Authorization: `Bearer ${gateway.key}`, ...(contentType !== null && { 'Content-Type': contentType }) },
      body: Buffer.from(body),
    });

  for (const { name, contentType, body, normalized, error, answer: expected } of fixtures.cases as Case[]) {
    test(name, async () => {
      const answer = await post(contentType, body);
      if (error !== undefined) {
        assert.equal(answer.status, error.status);
        assert.equal(answer.body.code, error.code);
        if (error.fields)
          assert.deepEqual(
            answer.body.details?.map(({ field }) => field),
            error.fields,
          );
        return;
      }
      const wanted = { ...fixtures.defaults, ...normalized } as typeof fixtures.defaults;
      const { title, body: text, source, category, severity } = wanted;
      assert.equal(answer.status, 200);
      const { dataKeys, ...preview } = answer.body.payloadPreview;
      assert.deepEqual(preview, { type: 'external_notification', title, body: text, source, category, severity });
      assert.deepEqual(new Set(dataKeys), new Set(Object.keys(wanted.data)));
      if (expected !== undefined) assert.partialDeepStrictEqual(answer.body, expected);
      assert.equal(answer.body.pushEnabled, wanted.sendPush);
      assert.equal(answer.body.mqttEnabled, wanted.sendMqtt);
      assert.equal(answer.body.emailEnabled, wanted.sendEmail ?? false);
      assert.equal(answer.body.stored, true);
    });
  }

  test('accepted notifications are in the inbox exactly as they were normalized, newest first, and nothing else is', async () => {
    const accepted = (fixtures.cases as Case[]).filter(({ error }) => error === undefined).reverse();
    const stored = await installation.json<Stored[]>('inbox', 'list', '--limit', '1000');
    assert.equal(stored.length, accepted.length);
    for (const [index, { name, normalized }] of accepted.entries()) {
      const wanted = { ...fixtures.defaults, ...normalized } as typeof fixtures.defaults;
      const { title, body, source, category, severity, data } = stored[index] as Stored;
      const { title: t, body: b, source: s, category: c, severity: v, data: d } = wanted;
      assert.deepEqual(
        { title, body, source, category, severity, data },
        { title: t, body: b, source: s, category: c, severity: v, data: d },
        name,
      );
    }
  });

  for (const [name, { value }] of Object.entries(jsonExamples)) {
    test(`the JSON example "${name}" of the OpenAPI document is accepted`, async () => {
      assert.equal((await post('application/json', JSON.stringify(value))).status, 200);
    });
  }

  test('the form and the text example of the OpenAPI document are accepted', async () => {
    const form = await post('application/x-www-form-urlencoded', new URLSearchParams(formExample.value).toString());
    assert.equal(form.status, 200);
    assert.deepEqual(form.body.payloadPreview.dataKeys, ['name', 'phone']);
    const text = await post('text/plain', textExample.value);
    assert.equal(text.body.payloadPreview.body, textExample.value);
  });
});
