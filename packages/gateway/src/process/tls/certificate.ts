// Reads and checks the server's certificate and key files.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { describeFileError } from '../../core/file-error.ts';
import { Problem } from '../../core/problem.ts';

export interface TlsFiles {
  /** The server's certificate first, then the chain. */
  certFile: string;
  keyFile: string;
}

export interface PemPair {
  cert: string;
  key: string;
}

export interface Certificate extends PemPair {
  /** DNS:tocsin.example.com, IP Address:192.0.2.1 */
  names: string;
  validFrom: Date;
  validTo: Date;
}

/** Rejects with a Problem that names the variable and the file. */
export async function readCertificate(files: TlsFiles): Promise<Certificate> {
  return checkCertificate(files, await readPair(files));
}

export async function readPair({ certFile, keyFile }: TlsFiles): Promise<PemPair> {
  return { cert: await read('TOCSIN_TLS_CERT', certFile), key: await read('TOCSIN_TLS_KEY', keyFile) };
}

export function checkCertificate({ certFile, keyFile }: TlsFiles, { cert, key }: PemPair): Certificate {
  const leaf = parse(`TOCSIN_TLS_CERT: ${certFile} contains no PEM certificate.`, () => new X509Certificate(cert));
  const privateKey = parse(`TOCSIN_TLS_KEY: ${keyFile} contains no PEM private key without a passphrase.`, () =>
    createPrivateKey(key),
  );
  if (!leaf.checkPrivateKey(privateKey)) {
    throw new Problem(
      `TOCSIN_TLS_KEY: the key in ${keyFile} does not belong to the first certificate in ${certFile} ` +
        "(TOCSIN_TLS_CERT). The server's own certificate comes first there, then the chain.",
    );
  }
  try {
    // OpenSSL finds further problems, such as a truncated chain or a key that is too short.
    createSecureContext({ cert, key });
  } catch (error) {
    throw new Problem(`TOCSIN_TLS_CERT: ${certFile} cannot be used: ${(error as Error).message}`);
  }
  return {
    cert,
    key,
    names: leaf.subjectAltName ?? leaf.subject,
    validFrom: new Date(leaf.validFrom),
    validTo: new Date(leaf.validTo),
  };
}

async function read(variable: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new Problem(`${variable}: ${file} cannot be read: ${describeFileError(error)}.`);
  }
}

/** Replaces the messages of the parsers, which name neither the file nor a remedy. */
function parse<T>(problem: string, parser: () => T): T {
  try {
    return parser();
  } catch {
    throw new Problem(problem);
  }
}
