import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { passkeyObstacle } from '../src/passkeys.ts';

suite('The obstacle for passkeys', () => {
  const at = (address: string, isOffered = false): string | null =>
    passkeyObstacle(isOffered, new URL(address) as unknown as Location);

  test('is the missing host name if the page was opened by IP address', () => {
    for (const address of ['http://192.168.1.20:8081', 'https://192.168.1.20', 'http://[::1]:8081'])
      assert.equal(at(address), 'needName', address);
  });

  test('is missing HTTPS if the page was opened by host name', () => {
    assert.equal(at('http://nas.lan:18081'), 'needHttps');
    assert.equal(at('http://nas'), 'needHttps');
  });

  test('is the configured address of the console if the address of the page is suitable', () => {
    assert.equal(at('https://nas.example'), 'needName');
    assert.equal(at('http://localhost:8081'), 'needName');
  });

  test('is the browser if the address is suitable', () => {
    assert.equal(at('https://nas.example', true), 'tooOld', 'Node has no passkeys');
  });
});
