import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { errors, hookErrors, notifyErrors } from './errors.ts';
import { controlFields } from './fields.ts';
import { openApiDocument } from './openapi.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is walked freely here; the validator checks its shape.
const document = openApiDocument('1.2.3') as any;

test('The OpenAPI document is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate(structuredClone(document));
  assert.deepEqual(result.errors ?? [], []);
  assert.equal(result.valid, true);
  assert.match(document.openapi, /^3\.1\./);
  assert.equal(document.info.version, '1.2.3');
});

test('The OpenAPI document describes every field of the request', () => {
  const described = Object.keys(document.components.schemas.NotificationRequest.properties);
  for (const field of controlFields) assert.ok(described.includes(field), field);
});

test('The OpenAPI document lists every error under its status, with its text as an example', () => {
  const listed = { '/': notifyErrors, '/in/{token}': hookErrors };
  assert.deepEqual(new Set(Object.values(listed).flat()), new Set(Object.keys(errors)));
  for (const [path, codes] of Object.entries(listed)) {
    for (const code of codes) {
      const { status, text } = errors[code];
      const { schema, examples } = document.paths[path].post.responses[status].content['application/json'];
      assert.ok(schema.allOf[1].properties.code.enum.includes(code), code);
      assert.ok(examples[code].value.error.startsWith(text), code);
    }
  }
});

test('The OpenAPI document names no host', () => {
  assert.deepEqual(
    document.servers.map(({ url }: { url: string }) => url),
    ['/'],
  );
});
