// The master key wraps the owners' data keys. It comes from the environment, or from a file made at the first start.
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
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

function createKeyFile(file: string): KeyObject {
  const bytes = randomBytes(masterKeyLength);
  let handle: number;
  try {
    handle = openSync(file, 'wx', 0o600);
  } catch (error) {
    // Another process that starts at the same moment was first.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return readKeyFile(file) as KeyObject;
    throw new Problem(`The master key file ${file} cannot be created: ${(error as Error).message}`);
  }
  // On disk before anything is sealed with it.
  writeSync(handle, `${bytes.toString('base64url')}\n`);
  fsyncSync(handle);
  closeSync(handle);
  return createSecretKey(bytes);
}
