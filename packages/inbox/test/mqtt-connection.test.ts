import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { mosquittoCommand, readConnections } from '@tocsin/contract/mqtt-connection';
import { qrText } from '../src/pages/devices/mqtt-connection.ts';

const device = { username: 'dev_1', password: "it's", topic: 'tocsin/own_1/dev_1/notifications' };
const settings = (...urls: string[]) => ({ ...device, urls });

suite('MQTT settings for copying', () => {
  test('have host, port, encryption and path of the address', () => {
    const urls = [
      'mqtt://broker.example',
      'mqtts://[2001:db8::1]',
      'ws://10.0.0.7:8080/mqtt',
      'wss://example.com/x/mqtt',
    ];
    assert.deepEqual(
      readConnections(settings(...urls)).map(({ host, port, isEncrypted, path }) => [host, port, isEncrypted, path]),
      [
        ['broker.example', 1883, false, null],
        ['2001:db8::1', 8883, true, null],
        ['10.0.0.7', 8080, false, '/mqtt'],
        ['example.com', 443, true, '/x/mqtt'],
      ],
    );
  });

  test('include a command that verifies certificates and quotes its arguments', () => {
    const line = mosquittoCommand(settings('wss://example.com/mqtt', 'mqtts://broker.example:8884'))?.join(' ');
    assert.match(
      line ?? '',
      /^mosquitto_sub -h 'broker\.example' -p 8884 --tls-use-os-certs -u 'dev_1' -P 'it'\\''s' -t /,
    );
  });

  test('include no command if the broker supports only WebSocket', () => {
    assert.equal(mosquittoCommand(settings('wss://example.com/mqtt')), null);
  });

  test('include a QR code with a complete address, or with JSON for WebSocket', () => {
    const topic = device.topic;
    assert.equal(qrText(settings('mqtt://[::1]:1883')), `mqtt://dev_1:it's@[::1]:1883/${topic}`);
    assert.deepEqual(JSON.parse(qrText(settings('wss://example.com/mqtt'))), {
      url: 'wss://example.com/mqtt',
      ...device,
    });
  });
});
