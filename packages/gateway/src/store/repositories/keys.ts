// API keys. Everything that decides about a key is encrypted, its digest included, so write access to the database without
// the master key cannot assign a digest to another owner. An earlier state of a key, from before it was revoked, can be
// decrypted; it is refused because of its version (`row-versions.ts`).
import { timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import {
  type ApiKey,
  DecryptionFailed,
  EncryptionKeyMissing,
  KeyExists,
  type KeyRepository,
  StoreUnavailable,
} from '../../usecases/ports/index.ts';
import type { EncryptionKey } from '../schema/database.ts';
import { ConstraintViolated, type Database } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { decryptMasterVersioned, decryptOrReport, encryptVersioned, rejectRefused } from '../vault/encrypted-rows.ts';
import type { Keyring } from '../vault/keyring.ts';
import type { MasterKeyring } from '../vault/master-keyring.ts';
import type { RowVersions } from '../vault/row-versions.ts';
import { childName, nodesAbove, type Versioned } from '../vault/version-tree.ts';
import { lockOwner } from './lock-owner.ts';

type KeyRow = Tables['api_keys'];

export function createKeyRepository(database: Database, keyring: Keyring, versions: RowVersions): KeyRepository {
  const { build, dialect } = database;
  const select = build.selectFrom('api_keys').selectAll().select(nodesAbove('api_keys'));

  const decrypt = (row: KeyRow): Promise<Versioned<ApiKey>> => decryptKey(keyring.master, row);

  function encryptKey(master: EncryptionKey, key: ApiKey, version: number): Buffer {
    return encryptVersioned(master, 'api_keys', key.ownerId, key.id, key, version);
  }

  return {
    async create(key) {
      try {
        const { id, ownerId, digest, irregular, createdAt } = key;
        await versions.write(ownerId, async (version) => ({
          children: { [childName('api_keys', id)]: version },
          rows: (master) => {
            const sealed = encryptKey(master, key, version);
            const insert = sql`insert into api_keys (owner_id, id, digest, irregular, created_at, sealed)
              select owners.id, ${id}, ${digest}, ${irregular ? 1 : 0}, ${createdAt}, ${sealed}
              ${lockOwner(dialect, ownerId)}`.compile(build);
            return { queries: [insert], written: { table: 'api_keys', ownerId, sealed } };
          },
        }));
      } catch (error) {
        if (!(error instanceof ConstraintViolated)) throw error;
        const owner = build.selectFrom('owners').select('id').where('id', '=', key.ownerId).compile();
        if ((await database.read(owner)).length === 0) throw new EncryptionKeyMissing('the owner was deleted');
        throw new KeyExists('there is a key with this value already', { cause: error });
      }
    },

    async list(ownerId, onDamaged) {
      const query = select.where('owner_id', '=', ownerId).orderBy('created_at').orderBy('id').compile();
      const onRefused = onDamaged ?? rejectRefused('api_keys');
      return versions.list('api_keys', () => database.read(query), decryptOrReport(decrypt, onDamaged), onRefused);
    },

    async find(digest) {
      const query = select.where('digest', '=', digest).compile();
      try {
        return await versions.find('api_keys', async () => (await database.read(query))[0], decrypt);
      } catch (error) {
        if (error instanceof DecryptionFailed)
          throw new StoreUnavailable(`an API key cannot be verified: ${error.message}`);
        throw error;
      }
    },

    async revoke(id, at) {
      const query = build.selectFrom('api_keys').selectAll().where('id', '=', id).compile();
      const [found] = await database.read(query);
      if (found === undefined) return null;
      let revoked: ApiKey | null = null;
      await versions.write(found.owner_id, async (version) => {
        const [row] = await database.read(query);
        if (row === undefined) return null;
        const { value: key } = await decrypt(row);
        // The first revocation keeps its time.
        const next: ApiKey = { ...key, revokedAt: key.revokedAt ?? at };
        revoked = next;
        return {
          children: { [childName('api_keys', id)]: version },
          rows: (master) => {
            const sealed = encryptKey(master, next, version);
            const query = build.updateTable('api_keys').set({ sealed }).where('id', '=', id).compile();
            return { queries: [query], written: { table: 'api_keys', ownerId: key.ownerId, sealed } };
          },
        };
      });
      return revoked;
    },

    async delete(ownerId, id) {
      const query = build.deleteFrom('api_keys').where('owner_id', '=', ownerId).where('id', '=', id).compile();
      await versions.write(ownerId, async () => ({
        children: { [childName('api_keys', id)]: null },
        rows: () => ({ queries: [query] }),
      }));
    },
  };
}

export async function decryptKey(master: MasterKeyring, row: KeyRow): Promise<Versioned<ApiKey>> {
  const decrypted = await decryptMasterVersioned<ApiKey>(master, 'api_keys', row);
  const { digest } = decrypted.value;
  const isSame = digest.length === row.digest.length && timingSafeEqual(Buffer.from(digest), Buffer.from(row.digest));
  if (!isSame) throw new DecryptionFailed(`the digest of key ${row.id} was altered`);
  return decrypted;
}
