// An installation that was made by version 0.1, before stricter defaults: one operator with a security key that asks for no
// PIN, a key and a notification. It was made by the code of that version, and is committed as it was.
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { databaseFileName, masterKeyFileName } from '../../gateway/src/store/files/data-directory.ts';
import { Installation } from './gateway-process.ts';
import type { SavedPasskey } from './software-authenticator.ts';

const folder = new URL('../../gateway/test/fixtures/data-directory-0.1/', import.meta.url);

export const older = JSON.parse(readFileSync(new URL('secrets.json', folder), 'utf8')) as {
  masterKey: string;
  owner: string;
  key: string;
  passkey: SavedPasskey;
};

export async function createOlderInstallation(environment: Record<string, string> = {}): Promise<Installation> {
  const installation = await Installation.create(environment);
  const database = gunzipSync(readFileSync(new URL('database.gz', folder)));
  await writeFile(join(installation.dataDir, databaseFileName), database, { mode: 0o600 });
  await writeFile(join(installation.dataDir, masterKeyFileName), `${older.masterKey}\n`, { mode: 0o600 });
  return installation;
}
