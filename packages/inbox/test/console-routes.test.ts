// The app sends requests to the console only for routes of the contract's table.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import * as routes from '@tocsin/contract/console/routes';

const source = join(import.meta.dirname, '../src');
const files = globSync('**/*.{ts,tsx}', { cwd: source });
const read = (file: string): string => readFileSync(join(source, file), 'utf8');
const filesWith = (pattern: RegExp): string[] => files.filter((file) => pattern.test(read(file))).sort();

suite('Requests of the app', () => {
  test('are sent by the typed client, apart from the public API, the event stream and the service worker', () => {
    assert.deepEqual(filesWith(/\bfetch\(/), [
      'api/client.ts',
      'api/public-api.ts',
      // Shown as an example for callers.
      'pages/keys/snippets.ts',
      'service-worker/push-events.ts',
      'service-worker/shell.ts',
    ]);
    assert.deepEqual(filesWith(/\bnew EventSource\(/), ['inbox/live-events.ts']);
    assert.deepEqual(filesWith(/\bXMLHttpRequest\b|\bsendBeacon\b|\bnew WebSocket\b/), []);
  });

  test('contain no path of the console: paths come from the route table', () => {
    assert.deepEqual(filesWith(/['"`]\/api\b/), []);
    assert.deepEqual(filesWith(/\b(?:call|openStream|urlOf|useLoaded)\(\s*['"`]/), []);
  });

  test('are made with types and paths of the contract, without its schemas', () => {
    const runtimeImports = /^import (?!type\b).*'@tocsin\/contract\/console(?!\/routes?')/m;
    assert.deepEqual(filesWith(runtimeImports), []);
  });

  test('use every route of the table except the callback of the OpenID provider', () => {
    const app = files.map(read).join('\n');
    const unused = Object.entries(routes).flatMap(([subject, table]) =>
      Object.entries(table).filter(([name]) => !new RegExp(`\\b${subject}\\.${name}\\b`).test(app)),
    );
    assert.deepEqual(unused, [['finishOidc', 'GET /sign-in/oidc/callback']]);
  });
});
