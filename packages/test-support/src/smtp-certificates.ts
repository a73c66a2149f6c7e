import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Certificates {
  /** The authority, in PEM form. */
  ca: string;
  key: string;
  cert: string;
}

/** A certificate for localhost, not for 127.0.0.1, and the authority that signed it. */
export async function createCertificates(): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-certificates-'));
  const file = (name: string): string => join(folder, name);
  const make = (name: string, subject: string, ...more: string[]) => {
    const algorithm = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const files = ['-keyout', file(`${name}.key`), '-out', file(`${name}.pem`)];
    return run('openssl', ['req', '-x509', '-days', '2', '-subj', subject, ...algorithm, ...files, ...more]);
  };
  try {
    await make('ca', '/CN=Tocsin test authority');
    const names = 'subjectAltName=DNS:localhost';
    await make('server', '/CN=localhost', '-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-addext', names);
    const read = (name: string): Promise<string> => readFile(file(name), 'utf8');
    return { ca: await read('ca.pem'), key: await read('server.key'), cert: await read('server.pem') };
  } finally {
    await rm(folder, { recursive: true });
  }
}
