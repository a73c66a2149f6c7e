import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { formatCountdown, isLoopback } from '../src/pages/settings/phone-address.ts';

suite('The address for a phone', () => {
  test('is recognized as a loopback address, which a phone cannot reach', () => {
    const loopback = ['http://localhost:8081', 'http://127.0.0.1:8081', 'http://[::1]:8081', 'http://inbox.localhost'];
    for (const address of loopback) assert.equal(isLoopback(address), true, address);
    for (const address of ['http://192.168.1.4:8081', 'https://inbox.example.com', 'http://localhost.example.com'])
      assert.equal(isLoopback(address), false, address);
  });

  test('has a countdown in minutes and seconds, not below zero', () => {
    assert.equal(formatCountdown(300_000), '5:00');
    assert.equal(formatCountdown(64_200), '1:05');
    assert.equal(formatCountdown(-5000), '0:00');
  });
});
