import type { PushTarget } from '../../core/recipients.ts';
import type { PushTargetRepository, StoredPushTarget } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import { bumpGeneration } from '../schema/generation.ts';
import type { Tables } from '../schema/tables.ts';
import { decryptAll, decryptValue, encryptValue } from '../vault/encrypted-rows.ts';
import type { Keyring } from '../vault/keyring.ts';

export function createPushTargetRepository(database: Database, keyring: Keyring): PushTargetRepository {
  const { build } = database;

  async function decrypt(row: Tables['push_targets']): Promise<StoredPushTarget> {
    const secret = await decryptValue<Pick<StoredPushTarget, 'token' | 'label'>>(keyring, 'push_targets', row);
    return {
      id: row.id,
      ownerId: row.owner_id,
      provider: row.provider as PushTarget['provider'],
      createdAt: row.created_at,
      disabledAt: row.disabled_at,
      ...secret,
    };
  }

  return {
    async create({ id, ownerId, provider, token, label, createdAt, disabledAt }) {
      const sealed = encryptValue(await keyring.current(ownerId), 'push_targets', ownerId, id, { token, label });
      const row = { owner_id: ownerId, id, provider, disabled_at: disabledAt, created_at: createdAt, sealed };
      await database.write([build.insertInto('push_targets').values(row).compile(), bumpGeneration(database)]);
    },

    async list(ownerId, onDamaged) {
      const query = build.selectFrom('push_targets').selectAll().where('owner_id', '=', ownerId);
      return decryptAll(await database.read(query.orderBy('created_at').orderBy('id').compile()), decrypt, onDamaged);
    },

    async find(id) {
      const [row] = await database.read(build.selectFrom('push_targets').selectAll().where('id', '=', id).compile());
      return row === undefined ? null : decrypt(row);
    },

    async disable(id, at) {
      await database.write([
        build.updateTable('push_targets').set({ disabled_at: at }).where('id', '=', id).compile(),
        bumpGeneration(database),
      ]);
    },

    async delete(id) {
      const [deleted] = await database.write([
        build.deleteFrom('push_targets').where('id', '=', id).compile(),
        bumpGeneration(database),
      ]);
      return deleted?.changes === 1;
    },
  };
}
