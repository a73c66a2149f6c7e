// Fingerprints of retired master keys, so that a retired key that is configured again, for example in the wrong order, is
// not taken for a new one.
import { createHmac, type KeyObject } from 'node:crypto';
import { type CompiledQuery, sql } from 'kysely';
import type { Database, EncryptionKey } from '../schema/database.ts';

const prefix = 'master_key_retired:';

/** Whether a row of `meta` with this name is a fingerprint. */
export function isRetiredKeyRow(name: string): boolean {
  return name.startsWith(prefix);
}

/** Does nothing while the key is active, that is, while `meta` has its proof. */
export function rememberRetired({ build }: Database, { version, key }: EncryptionKey, proof: string): CompiledQuery {
  return sql`insert into meta (name, value) select ${`${prefix}${version}`}, ${fingerprint(key)}
    where not exists (select 1 from meta where name = ${proof}) on conflict do nothing`.compile(build);
}

export async function isRetired({ build, read }: Database, key: KeyObject): Promise<boolean> {
  const rows = await read(build.selectFrom('meta').select('value').where('name', 'like', `${prefix}%`).compile());
  return rows.some(({ value }) => Buffer.compare(value, fingerprint(key)) === 0);
}

/** In hex digits, which cannot be mistaken for an encrypted value. */
function fingerprint(key: KeyObject): Buffer {
  return Buffer.from(createHmac('sha256', key).update('tocsin retired master key').digest('hex'));
}
