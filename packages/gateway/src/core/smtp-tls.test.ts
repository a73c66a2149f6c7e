import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smtpTls, smtpTlsWarning } from './smtp-tls.ts';

const urls: [url: string, inNew: string, inOld: string][] = [
  ['smtps://mail.example.com', 'required', 'required'],
  ['smtp://mail.example.com:465', 'required', 'required'],
  ['smtp://user:pw@mail.example.com:587', 'required', 'optional until set'],
  ['smtp://mail.example.com', 'required', 'optional until set'],
  ['smtp://mailhog:1025', 'required', 'optional until set'],
  ['smtp://10.0.0.1', 'required', 'optional until set'],
  ['smtp://127.evil.example', 'required', 'optional until set'],
  ['smtp://localhost.evil.example', 'required', 'optional until set'],
  ['smtp://user:pw@localhost', 'required', 'optional until set'],
  ['smtp://localhost:25', 'optional', 'optional'],
  ['smtp://127.0.0.1:2525', 'optional', 'optional'],
  ['smtp://[::1]:2525', 'optional', 'optional'],
  ['smtp://user:pw@mail.example.com?requireTLS=false', 'optional', 'optional'],
  ['smtp://localhost?requireTLS=true', 'required', 'required'],
];

test('TLS is required wherever a password or a network is involved, unless the operator chose otherwise by name', () => {
  for (const [url, inNew, inOld] of urls) {
    assert.deepEqual([smtpTls(new URL(url), false), smtpTls(new URL(url), true)], [inNew, inOld], url);
  }
});

test('Only email that may go out in the clear is warned about, without the password', () => {
  const warned = urls.filter(([url]) => smtpTlsWarning(new URL(url), true) !== null).map(([, , inOld]) => inOld);
  assert.deepEqual(new Set(warned), new Set(['optional until set', 'optional']));
  assert.equal(smtpTlsWarning(new URL('smtp://localhost'), true), null);
  for (const [url] of urls) assert.doesNotMatch(smtpTlsWarning(new URL(url), true) ?? '', /pw/);
});
