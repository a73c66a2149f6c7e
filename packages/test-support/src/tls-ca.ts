// A certificate authority for tests, made with openssl.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface IssuedCertificate {
  cert: string;
  key: string;
  certFile: string;
  keyFile: string;
}

export interface TestAuthority {
  /** Its own certificate. */
  ca: string;
  caFile: string;
  /** `names` as openssl writes them: DNS:broker.test, IP:127.0.0.1 */
  issue(...names: string[]): IssuedCertificate;
  remove(): void;
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export function createTestAuthority(days = 2): TestAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'tocsin-ca-'));
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  };
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-days',
    String(days),
    '-subj',
    '/CN=Tocsin test CA',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
  );
  let issued = 0;
  return {
    ca: readFileSync(join(folder, 'ca.pem'), 'utf8'),
    caFile: join(folder, 'ca.pem'),
    issue(...names) {
      const name = `server-${++issued}`;
      openssl('req', ...newKey, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`);
      writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${names.join(',')}\n`);
      const sign = [
        '-CA',
        'ca.pem',
        '-CAkey',
        'ca.key',
        '-CAcreateserial',
        '-days',
        String(days),
        '-extfile',
        `${name}.ext`,
      ];
      openssl('x509', '-req', '-in', `${name}.csr`, ...sign, '-out', `${name}.pem`);
      const certFile = join(folder, `${name}.pem`);
      const keyFile = join(folder, `${name}.key`);
      return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
