import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { inboxOperations } from '@tocsin/contract/console/inbox';
import { keyOperations } from '@tocsin/contract/console/keys';
import {
  flag,
  integer,
  nullable,
  object,
  oneOf,
  optionalLine,
  type Schema,
  text,
  withDefault,
} from '@tocsin/contract/console/schema';
import { settingsOperations } from '@tocsin/contract/console/settings';
import type { ErrorObject } from 'ajv';
import { createValidatorCompiler, fieldProblems } from './validation.ts';

const compile = createValidatorCompiler(() => 1000);

/** The problems of a value; empty if it is valid. The value is trimmed and completed in place. */
function problemsOf(schema: Schema, value: unknown, httpPart = 'body') {
  const validate = compile({ schema, httpPart, method: 'POST', url: '/' }) as ((value: unknown) => boolean) & {
    errors?: ErrorObject[];
  };
  return validate(value) ? [] : fieldProblems(validate.errors ?? []);
}

suite('Validation by the schemas of the console', () => {
  test('trims lines and turns blank optional ones into null', () => {
    const schema = object({ name: text({ line: 5 }), label: optionalLine(5), note: optionalLine(5) });
    const body = { name: '  Ann  ', label: '   ' };
    assert.deepEqual(problemsOf(schema, body), []);
    assert.deepEqual(body, { name: 'Ann', label: null, note: null });
  });

  test('measures the length of a line after trimming, and refuses line breaks', () => {
    const schema = object({ name: text({ line: 5 }) });
    assert.deepEqual(problemsOf(schema, { name: ' 12345 ' }), []);
    for (const name of ['', '  ', '123456', 'a\nb']) {
      assert.deepEqual(
        problemsOf(schema, { name }).map(({ field }) => field),
        ['name'],
        JSON.stringify(name),
      );
    }
  });

  test('does not run a check on a line that became null', () => {
    const schema = object({ email: optionalLine(254, { check: 'emailAddress' }) });
    const body = { email: ' ' };
    assert.deepEqual(problemsOf(schema, body), []);
    assert.deepEqual(body, { email: null });
    assert.equal(problemsOf(schema, { email: 'no address' }).length, 1);
  });

  test('accepts absent, null and blank values of optional fields', () => {
    const required = { type: 'public_client', requireSignature: false };
    const none = { label: null, allowedDomains: [], rateLimit: null, expiresAt: null };
    for (const optional of [{}, none, { label: ' ', allowedDomains: null, rateLimit: '', expiresAt: null }]) {
      const key: Record<string, unknown> = { ...required, ...optional };
      assert.deepEqual(problemsOf(keyOperations.createKey.body, key), []);
      assert.deepEqual({ ...key, allowedDomains: key.allowedDomains ?? [] }, { ...required, ...none });
    }
    const preferences = { name: 'Ann', emailAlerts: false, quietHours: { timeZone: 'UTC', push: null } };
    assert.deepEqual(problemsOf(settingsOperations.updatePreferences.body, preferences), []);
    // The route adds null for each channel that is absent.
    assert.deepEqual(preferences, { ...preferences, retentionDays: null });
  });

  test('converts numbers in a query, but not in a body', () => {
    const schema = object({ limit: withDefault(integer({ minimum: 1 }), 50) });
    const query = { limit: '7' };
    assert.deepEqual(problemsOf(schema, query, 'querystring'), []);
    assert.deepEqual(query, { limit: 7 });
    assert.deepEqual(problemsOf(schema, { limit: '7' }), [{ field: 'limit', problem: 'must be a whole number' }]);
  });

  test('describes every problem in words, with the path of its field', () => {
    const schema = object({
      isOn: flag(),
      kind: oneOf(['a', 'b']),
      at: nullable(integer({ check: 'expiry' })),
      inner: object({ list: { type: 'array', items: text() } as Schema<string[]> }),
    });
    assert.deepEqual(problemsOf(schema, { isOn: 'yes', kind: 'c', at: 1000, inner: { list: ['x', 7] } }), [
      { field: 'isOn', problem: 'must be true or false' },
      { field: 'kind', problem: 'must be one of a, b' },
      { field: 'at', problem: 'must be in the future' },
      { field: 'inner.list.1', problem: 'must be text' },
    ]);
    assert.deepEqual(problemsOf(schema, []), [{ field: '', problem: 'must be a JSON object' }]);
  });

  test('reports the most specific problem of a field, and a container instead of its members', () => {
    const key = { type: 5, requireSignature: false, rateLimit: 'x'.repeat(30), expiresAt: 1.5 };
    assert.deepEqual(problemsOf(keyOperations.createKey.body, key), [
      { field: 'type', problem: 'must be one of public_client, internal_service' },
      { field: 'rateLimit', problem: 'must be text of 1 to 20 characters' },
      { field: 'expiresAt', problem: 'must be a whole number or null' },
    ]);
    const quietHours = { timeZone: 'UTC', push: { from: 5 }, email: { from: '07:00', to: '07:00' } };
    assert.deepEqual(
      problemsOf(settingsOperations.updatePreferences.body, { name: 'Ann', emailAlerts: false, quietHours }),
      [
        { field: 'quietHours.push', problem: 'must have from and to as HH:MM, such as 22:00 and 07:00' },
        { field: 'quietHours.email', problem: 'must not end when it begins' },
      ],
    );
  });

  test('names the members of a list in the released form: with brackets in allowedDomains, else with a dot', () => {
    const ids = (body: unknown) => problemsOf(inboxOperations.deleteNotifications.body, body).map(({ field }) => field);
    assert.deepEqual(ids({ ids: ['no id'] }), ['ids.0']);
    const key = { type: 'public_client', requireSignature: false, allowedDomains: ['example.com', 'no domain', 7] };
    assert.deepEqual(
      problemsOf(keyOperations.createKey.body, key).map(({ field }) => field),
      ['allowedDomains[1]', 'allowedDomains[2]'],
    );
  });
});
