import assert from 'node:assert/strict';
import { createECDH, createPublicKey } from 'node:crypto';
import { suite, test } from 'node:test';
import { readJwt } from '@tocsin/test-support/push-jwt.ts';
import { createVapidAuthorization, createVapidKeys, parseVapidKeys } from '../src/channels/push/vapid.ts';
import { encryptWebPush } from '../src/channels/push/web-push-encryption.ts';
import { Problem } from '../src/core/problem.ts';

const decode = (text: string): Buffer => Buffer.from(text, 'base64url');

suite('Encryption and identification for Web Push', () => {
  test('the example of RFC 8291, section 5 and appendix A, is reproduced byte for byte', () => {
    const keys = createECDH('prime256v1');
    keys.setPrivateKey(decode('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw'));
    const message = encryptWebPush(
      Buffer.from('When I grow up, I want to be a watermelon'),
      {
        p256dh: decode('BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'),
        auth: decode('BTBZMqHH6r4Tts7J_aSIgg'),
      },
      { keys, salt: decode('DGv6ra1nlYgDCS1FRnbzlw') },
    );
    assert.equal(
      message.toString('base64url'),
      'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
    );
  });

  test('every message has its own salt and key', () => {
    const browser = createECDH('prime256v1');
    const keys = { p256dh: browser.generateKeys(), auth: Buffer.alloc(16, 1) };
    const [one, two] = [encryptWebPush(Buffer.from('x'), keys), encryptWebPush(Buffer.from('x'), keys)];
    assert.notDeepEqual(one.subarray(0, 16), two.subarray(0, 16));
    assert.notDeepEqual(one.subarray(21, 86), two.subarray(21, 86));
  });

  test('VAPID keys can be stored and read, and a damaged one is a problem that does not show it', () => {
    const text = createVapidKeys();
    const { privateKey, publicKey } = parseVapidKeys(text);
    assert.equal(decode(publicKey).length, 65);
    const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
    assert.equal(decode(publicKey).subarray(1, 33).toString('base64url'), x);
    assert.notEqual(createVapidKeys(), text);
    for (const damaged of ['', '{}', 'null', text.replace('P-256', 'P-384'), text.slice(0, -5)]) {
      assert.throws(
        () => parseVapidKeys(damaged),
        (error) => error instanceof Problem && !error.message.includes(x as string),
      );
    }
  });

  test('a VAPID token is created once per push service and renewed an hour before it expires', () => {
    const clock = { now: 1_800_000_000_000 };
    const keys = parseVapidKeys(createVapidKeys());
    const authorize = createVapidAuthorization(keys, 'mailto:ops@example.com', () => clock.now);
    const first = authorize('https://a.example');
    clock.now += 10.9 * 3_600_000;
    assert.equal(authorize('https://a.example'), first);
    assert.notEqual(authorize('https://b.example'), first);
    clock.now += 0.2 * 3_600_000;
    const second = authorize('https://a.example');
    assert.notEqual(second, first);
    const token = /^vapid t=(\S+), k=/.exec(second)?.[1] ?? '';
    assert.deepEqual(readJwt(token, 'ES256', createPublicKey(keys.privateKey))?.claims, {
      aud: 'https://a.example',
      exp: clock.now / 1000 + 12 * 3600,
      sub: 'mailto:ops@example.com',
    });
  });
});
