import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { byName, deviceUrls } from './device-urls.ts';

const nothingSaid = { publicAddresses: { deviceUrls: null, consoleUrl: null }, mqtt: { platform: null } };

suite('A device is told to connect', () => {
  test('to where we listen, and never to "every address of this machine"', () => {
    const listeners = { console: 'http://0.0.0.0:8081/', mqtt: 'mqtt://[::]:1883' };
    const urls = ['mqtt://localhost:1883', 'ws://localhost:8081/mqtt'];
    assert.deepEqual(deviceUrls(nothingSaid, listeners), urls);
    const loopback = { console: 'https://127.0.0.1:8081', mqtt: null };
    assert.deepEqual(deviceUrls(nothingSaid, loopback), ['wss://127.0.0.1:8081/mqtt']);
  });

  test('to what the operator said first, then to the broker of the operator, without its password', () => {
    const listeners = { console: 'http://127.0.0.1:8081', mqtt: 'mqtt://127.0.0.1:1883' };
    const platform = { url: new URL('mqtts://user:secret@broker.example.com:8883/') };
    assert.deepEqual(deviceUrls({ ...nothingSaid, mqtt: { platform } }, listeners), [
      'mqtts://broker.example.com:8883',
    ]);
    const told = ['mqtts://mqtt.example.com'];
    const publicAddresses = { deviceUrls: told, consoleUrl: null };
    assert.deepEqual(deviceUrls({ publicAddresses, mqtt: { platform } }, listeners), told);
    const consoleUrl = 'https://inbox.example.com';
    assert.deepEqual(deviceUrls({ ...nothingSaid, publicAddresses: { deviceUrls: null, consoleUrl } }, listeners), [
      'mqtt://127.0.0.1:1883',
      'wss://inbox.example.com/mqtt',
    ]);
  });
});

test('Browsers on this machine get a name, since passkeys need one', () => {
  for (const host of ['127.0.0.1', '0.0.0.0', '[::1]', '[::]', 'localhost'])
    assert.equal(byName(`http://${host}:8081/`), 'http://localhost:8081/');
  for (const url of ['http://10.0.0.1/', 'http://127.0.0.10/', 'https://inbox.example.com'])
    assert.equal(byName(url), url);
});
