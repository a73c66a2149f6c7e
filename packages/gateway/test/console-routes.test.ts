// The route table of the contract and the routes of the console are the same.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type ConsoleError, consoleTable } from '@tocsin/contract/console';
import { apiPrefix, splitRoute, urlOf } from '@tocsin/contract/console/route';
import type { Schema } from '@tocsin/contract/console/schema';
import { routeOf } from '@tocsin/test-support/console-contract.ts';
import { startLocalConsole } from '@tocsin/test-support/local-console.ts';
import { createOwner, systemEnvironment } from '../src/usecases/registration.ts';

/** Wrong for most fields, and each in several ways at once for some. */
const wrongValues: readonly unknown[] = [
  ...[null, true, 0, 1.5, -1, 999_999, '', 'sms', 'a\nb', 'x'.repeat(500)],
  ...[[], [5, 'no domain'], {}, { endpoint: 5, keys: 5 }],
  { timeZone: 5, push: { from: 5, to: 5 }, email: {}, mqtt: { from: '07:00' } },
];

/** A body or a query that has one value for all fields. */
function withValue<T>({ properties = {} }: Schema, value: T): Record<string, T> {
  return Object.fromEntries(Object.keys(properties).map((name) => [name, value]));
}

/** Fields that are reported more than once, by themselves or together with one of their members. */
function reportedTwice({ details = [] }: ConsoleError): string[] {
  const fields = details.map(({ field }) => field);
  return fields.filter((field, index) =>
    fields.some((other, at) => at !== index && field.startsWith(other) && /^($|[.[])/.test(field.slice(other.length))),
  );
}

suite('The route table of the console', () => {
  test('holds every route that is registered under /api, and no other', async (t) => {
    const local = await startLocalConsole();
    t.after(() => local.stop());
    const registered = local.routes.filter(({ method, url }) => url.startsWith(apiPrefix) && method !== 'HEAD');
    assert.deepEqual(
      registered.map(({ method, url }) => `${method} ${url.slice(apiPrefix.length)}`).sort(),
      [...consoleTable.keys()].sort(),
    );
    for (const { method, url, isPublic } of registered) {
      const operation = consoleTable.get(routeOf(method, url) as never);
      assert.equal(isPublic, operation?.access === 'public', `${method} ${url}`);
    }
  });

  test('has one operation for each route, with a response type unless it redirects, streams or returns nothing', () => {
    for (const [route, { status, response, stream }] of consoleTable) {
      const isRedirect = route.includes('/oidc');
      const kinds = [isRedirect, status === 204, response !== undefined, stream !== undefined];
      assert.equal(kinds.filter(Boolean).length, 1, route);
    }
  });

  test('has bodies only for requests that change something', () => {
    for (const [route, { body, query }] of consoleTable) {
      const { method } = splitRoute(route);
      assert.ok(body === undefined || method === 'POST' || method === 'PUT', route);
      assert.ok(query === undefined || method === 'GET', route);
    }
  });

  test('gives the URL of a route, with parameters escaped', () => {
    assert.equal(urlOf('DELETE /keys/:id', { id: 'a/b?c' }), '/api/keys/a%2Fb%3Fc');
    assert.equal(urlOf('GET /notifications', {}, { limit: 5, before: 'x y' }), '/api/notifications?limit=5&before=x+y');
  });
});

test('The console reports no field of a body or a query twice, on any route', async (t) => {
  const local = await startLocalConsole({ parts: { webPushProblem: () => 'it has no endpoint' } });
  t.after(() => local.stop());
  const boss = { name: 'Boss', email: null, emailAlerts: false, role: 'operator' } as const;
  const client = await local.signIn((await createOwner(local.store, systemEnvironment, boss)).id);
  for (const [route, { body, query }] of consoleTable) {
    // Every query of the event stream is accepted.
    if ((body ?? query) === undefined || route === 'GET /events') continue;
    let refused = 0;
    for (const value of wrongValues) {
      const { method } = splitRoute(route);
      const url = urlOf(route, { id: 'none' }, query && withValue(query, String(value)));
      const { status, body: error } = await client.ask<ConsoleError>(method, url, body && withValue(body, value));
      if (status !== 400) continue;
      refused += 1;
      assert.deepEqual(reportedTwice(error), [], `${route} ${JSON.stringify(value)}: ${JSON.stringify(error.details)}`);
    }
    assert.notEqual(refused, 0, route);
  }
  assert.deepEqual(local.failures, []);
});
