import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fixtures from '../fixtures/signatures.json' with { type: 'json' };
import { isSignatureValid, sign } from './signature.ts';

suite('A signed request', () => {
  for (const { apiKey, timestamp, body, signature } of fixtures.vectors) {
    test(`signs ${JSON.stringify(body)} at ${timestamp} as the vector says, as text and as bytes`, () => {
      assert.equal(sign(apiKey, timestamp, body), signature);
      assert.equal(sign(apiKey, timestamp, Buffer.from(body)), signature);
    });
  }

  for (const { name, now, accepted, body, ...signed } of fixtures.checks) {
    test(`is ${accepted ? 'accepted' : 'refused'} with ${name}`, () => {
      assert.equal(isSignatureValid({ ...signed, rawBody: body }, now), accepted);
    });
  }
});
