import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { byName, deviceUrls } from './device-urls.ts';

const defaults = { publicAddresses: { deviceUrls: null, consoleUrl: null }, mqtt: { platform: null } };

suite('The broker addresses for a device', () => {
  test('are those of the listeners, without unspecified addresses', () => {
    const listeners = { console: 'http://0.0.0.0:8081/', mqtt: 'mqtt://[::]:1883' };
    const urls = ['mqtt://localhost:1883', 'ws://localhost:8081/mqtt'];
    assert.deepEqual(deviceUrls(defaults, listeners), urls);
    const loopback = { console: 'https://127.0.0.1:8081', mqtt: null };
    assert.deepEqual(deviceUrls(defaults, loopback), ['wss://127.0.0.1:8081/mqtt']);
  });

  test('are the configured ones, or the broker of the operator without its password', () => {
    const listeners = { console: 'http://127.0.0.1:8081', mqtt: 'mqtt://127.0.0.1:1883' };
    const platform = { url: new URL('mqtts://user:secret@broker.example.com:8883/') };
    assert.deepEqual(deviceUrls({ ...defaults, mqtt: { platform } }, listeners), ['mqtts://broker.example.com:8883']);
    const configured = ['mqtts://mqtt.example.com'];
    const publicAddresses = { deviceUrls: configured, consoleUrl: null };
    assert.deepEqual(deviceUrls({ publicAddresses, mqtt: { platform } }, listeners), configured);
    const consoleUrl = 'https://inbox.example.com';
    assert.deepEqual(deviceUrls({ ...defaults, publicAddresses: { deviceUrls: null, consoleUrl } }, listeners), [
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
