import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { formatCountdown, isLoopback } from '../src/pages/settings/phone-address.ts';
import { retentionChoices } from '../src/pages/settings/retention-choices.ts';

suite('What the settings offer', () => {
  test('to keep is never more than the service keeps, and what was chosen is among it', () => {
    assert.deepEqual(retentionChoices(90, null), [null, 30, 7, 1]);
    assert.deepEqual(retentionChoices(90, 14), [null, 30, 14, 7, 1]);
    assert.deepEqual(retentionChoices(0, null), [null, 730, 365, 180, 90, 30, 7, 1]);
  });

  test('a phone is what it can reach', () => {
    const onlyHere = ['http://localhost:8081', 'http://127.0.0.1:8081', 'http://[::1]:8081', 'http://inbox.localhost'];
    for (const address of onlyHere) assert.equal(isLoopback(address), true, address);
    for (const address of ['http://192.168.1.4:8081', 'https://inbox.example.com', 'http://localhost.example.com'])
      assert.equal(isLoopback(address), false, address);
  });

  test('counts down in minutes and seconds, and never below nothing', () => {
    assert.equal(formatCountdown(300_000), '5:00');
    assert.equal(formatCountdown(64_200), '1:05');
    assert.equal(formatCountdown(-5000), '0:00');
  });
});
