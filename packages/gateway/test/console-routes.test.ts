// The route table of the contract and the routes of the console are the same.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { consoleTable } from '@tocsin/contract/console';
import { apiPrefix, splitRoute, urlOf } from '@tocsin/contract/console/route';
import { routeOf } from '@tocsin/test-support/console-contract.ts';
import { startLocalConsole } from '@tocsin/test-support/local-console.ts';

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
