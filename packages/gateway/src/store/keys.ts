// API keys. All that decides about a key lies in its sealed column, the digest included: whoever can write the database
// but has no master key can neither bring a revoked key back nor point a digest at another owner.
import { timingSafeEqual } from 'node:crypto';
import {
  type ApiKey,
  type DirectoryStore,
  KeyExists,
  type KeyStore,
  SealBroken,
  type SignatureStore,
  StoreUnavailable,
} from '../gateway/ports.ts';
import type { SealingKey } from './cipher.ts';
import type { Database } from './database.ts';
import type { Keyring } from './keyring.ts';
import type { MasterKeyring } from './master-keyring.ts';
import { bumpGeneration } from './owners.ts';
import { openAll, openMasterValue, sealValue } from './sealed-columns.ts';
import type { Tables } from './tables.ts';

type KeyRow = Tables['api_keys'];

export function createKeyStore(
  database: Database,
  keyring: Keyring,
): KeyStore & SignatureStore & Pick<DirectoryStore, 'findKey'> {
  const { build } = database;

  const open = (row: KeyRow): Promise<ApiKey> => openKey(keyring.master, row);

  function sealKey(master: SealingKey, key: ApiKey): Buffer {
    return sealValue(master, 'api_keys', key.ownerId, key.id, key);
  }

  return {
    async createKey(key) {
      const [inserted] = await keyring.master.write((master) => [
        build
          .insertInto('api_keys')
          .values({
            owner_id: key.ownerId,
            id: key.id,
            digest: key.digest,
            irregular: key.irregular ? 1 : 0,
            created_at: key.createdAt,
            sealed: sealKey(master, key),
          })
          .onConflict((conflict) => conflict.column('digest').doNothing())
          .compile(),
        bumpGeneration(database),
      ]);
      if (inserted?.changes !== 1) throw new KeyExists('a key with this value is there already');
    },

    async listKeys(ownerId, onDamaged) {
      const query = build.selectFrom('api_keys').selectAll().where('owner_id', '=', ownerId);
      const rows = await database.read(query.orderBy('created_at').orderBy('id').compile());
      return openAll(rows, open, onDamaged);
    },

    async findKey(digest) {
      const [row] = await database.read(
        build.selectFrom('api_keys').selectAll().where('digest', '=', digest).compile(),
      );
      if (row === undefined) return null;
      try {
        return await open(row);
      } catch (error) {
        if (error instanceof SealBroken)
          throw new StoreUnavailable(`key ${row.id} cannot be checked: ${error.message}`);
        throw error;
      }
    },

    async revokeKey(id, at) {
      const [row] = await database.read(build.selectFrom('api_keys').selectAll().where('id', '=', id).compile());
      if (row === undefined) return null;
      const key = await open(row);
      // The first revocation keeps its time.
      const revoked: ApiKey = { ...key, revokedAt: key.revokedAt ?? at };
      await keyring.master.write((master) => [
        build
          .updateTable('api_keys')
          .set({ sealed: sealKey(master, revoked) })
          .where('id', '=', id)
          .compile(),
        bumpGeneration(database),
      ]);
      return revoked;
    },

    async claimSignature(ownerId, signature, expiresAt) {
      const [claimed] = await database.write([
        build
          .insertInto('used_signatures')
          .values({ owner_id: ownerId, signature, expires_at: expiresAt })
          .onConflict((conflict) => conflict.doNothing())
          .compile(),
      ]);
      return claimed?.changes === 1;
    },
  };
}

export async function openKey(master: MasterKeyring, row: KeyRow): Promise<ApiKey> {
  const key = await openMasterValue<ApiKey>(master, 'api_keys', row);
  const isSame =
    key.digest.length === row.digest.length && timingSafeEqual(Buffer.from(key.digest), Buffer.from(row.digest));
  if (!isSame) throw new SealBroken(`the digest of key ${row.id} was altered`);
  return key;
}
