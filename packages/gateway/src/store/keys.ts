import { timingSafeEqual } from 'node:crypto';
import type { KeyType } from '@tocsin/contract';
import { type ApiKey, KeyExists, type Store } from '../gateway/ports.ts';
import type { Database } from './database.ts';
import type { Keyring } from './keyring.ts';
import { bumpGeneration } from './owners.ts';
import { openValue, sealValue } from './sealed-columns.ts';
import type { Tables } from './tables.ts';

type Settings = Pick<ApiKey, 'label' | 'allowedDomains' | 'requireSignature' | 'rateLimit'>;
type KeyRow = Omit<Tables['api_keys'], 'revoked_at'> & { revoked_at: number | null };

export type KeyStore = Pick<Store, 'createKey' | 'listKeys' | 'findKey' | 'revokeKey' | 'claimSignature'>;

export function createKeyStore(database: Database, keyring: Keyring): KeyStore {
  const { build } = database;

  async function open(row: KeyRow): Promise<ApiKey> {
    const settings = await openValue<Settings>(keyring, 'api_keys', row);
    return {
      id: row.id,
      ownerId: row.owner_id,
      digest: row.digest,
      type: row.type as KeyType,
      irregular: row.irregular === 1,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      revokedAt: row.revoked_at,
      ...settings,
    };
  }

  return {
    async createKey(key) {
      const { label, allowedDomains, requireSignature, rateLimit } = key;
      const settings: Settings = { label, allowedDomains, requireSignature, rateLimit };
      const sealed = sealValue(await keyring.current(key.ownerId), 'api_keys', key.ownerId, key.id, settings);
      const [inserted] = await database.write([
        build
          .insertInto('api_keys')
          .values({
            owner_id: key.ownerId,
            id: key.id,
            digest: key.digest,
            type: key.type,
            irregular: key.irregular ? 1 : 0,
            created_at: key.createdAt,
            expires_at: key.expiresAt,
            revoked_at: key.revokedAt,
            sealed,
          })
          .onConflict((conflict) => conflict.column('digest').doNothing())
          .compile(),
        bumpGeneration(database),
      ]);
      if (inserted?.changes !== 1) throw new KeyExists('a key with this value is there already');
    },

    async listKeys(ownerId) {
      const query = build.selectFrom('api_keys').selectAll().where('owner_id', '=', ownerId);
      const rows = await database.read(query.orderBy('created_at').orderBy('id').compile());
      return Promise.all(rows.map(open));
    },

    async findKey(digest) {
      const [row] = await database.read(
        build.selectFrom('api_keys').selectAll().where('digest', '=', digest).compile(),
      );
      if (row === undefined) return null;
      const isSame =
        row.digest.length === digest.length && timingSafeEqual(Buffer.from(row.digest), Buffer.from(digest));
      return isSame ? open(row) : null;
    },

    async revokeKey(id, at) {
      const [revoked] = await database.write([
        // The first revocation keeps its time.
        build
          .updateTable('api_keys')
          .set((eb) => ({ revoked_at: eb.fn.coalesce('revoked_at', eb.val(at)) }))
          .where('id', '=', id)
          .returningAll()
          .compile(),
        bumpGeneration(database),
      ]);
      const row = revoked?.rows[0] as KeyRow | undefined;
      return row === undefined ? null : open(row);
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
