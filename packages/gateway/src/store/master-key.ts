// The master key wraps the owners' data keys. It comes from the environment, or from a file made at the first start.
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { masterKeyLength, parseMasterKey } from '../core/master-key-format.ts';
import { Problem } from '../core/problem.ts';
import type { SealingKey } from './cipher.ts';

/** The key that was given, else the one in the file, else, where nothing is sealed yet, a new one in that file. */
export function obtainMasterKey(given: KeyObject | null, file: string, mayCreate: boolean): SealingKey {
  const key = given ?? readKeyFile(file) ?? (mayCreate ? createKeyFile(file) : undefined);
  if (key === undefined) {
    throw new Problem(
      `The database holds sealed rows, but there is no master key: ${file} is missing and TOCSIN_MASTER_KEY is not set. ` +
        'Put the key file back from your backup, or set TOCSIN_MASTER_KEY.',
    );
  }
  return { version: 1, key };
}

function readKeyFile(file: string): KeyObject | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Problem(`The master key file ${file} cannot be read: ${(error as Error).message}`);
  }
  const key = parseMasterKey(text);
  if (key === undefined) throw new Problem(`${file} does not hold a master key (32 bytes as base64 or hex).`);
  return key;
}

/** The file appears whole or not at all: a stop half-way, or another process that starts now, never meets an empty one. */
function createKeyFile(file: string): KeyObject {
  const bytes = randomBytes(masterKeyLength);
  const draft = `${file}.${process.pid}`;
  try {
    // On disk before anything is sealed with it.
    writeFileSync(draft, `${bytes.toString('base64url')}\n`, { mode: 0o600, flush: true });
    linkSync(draft, file);
    syncFolder(dirname(file));
  } catch (error) {
    // Another process that starts at the same moment was first.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return readKeyFile(file) as KeyObject;
    throw new Problem(`The master key file ${file} cannot be created: ${(error as Error).message}`);
  } finally {
    rmSync(draft, { force: true });
  }
  return createSecretKey(bytes);
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  fsyncSync(handle);
  closeSync(handle);
}
