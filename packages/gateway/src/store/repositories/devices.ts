import { sql } from 'kysely';
import type { Device } from '../../core/recipients.ts';
import type { DeviceRepository, StoredDevice } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import { bumpGeneration } from '../schema/generation.ts';
import type { Tables } from '../schema/tables.ts';
import { decryptAll, decryptValue, encryptValue } from '../vault/encrypted-rows.ts';
import type { Keyring } from '../vault/keyring.ts';
import { isOneOf } from './one-of.ts';

/** Devices updated per transaction; small, so that requests are not delayed. */
const touchBatch = 500;

export function createDeviceRepository(database: Database, keyring: Keyring): DeviceRepository {
  const { build, dialect } = database;

  async function decrypt(row: Tables['devices']): Promise<StoredDevice> {
    const { name } = await decryptValue<{ name: string }>(keyring, 'devices', row);
    return {
      id: row.id,
      ownerId: row.owner_id,
      name,
      state: row.state as Device['state'],
      paused: row.paused === 1,
      createdAt: row.created_at,
      seenAt: row.seen_at,
    };
  }

  async function encryptName(ownerId: string, id: string, name: string): Promise<Uint8Array> {
    return encryptValue(await keyring.current(ownerId), 'devices', ownerId, id, { name });
  }

  return {
    async create({ id, ownerId, name, state, paused, createdAt, seenAt }, secretDigest) {
      await database.write([
        build
          .insertInto('devices')
          .values({
            owner_id: ownerId,
            id,
            state,
            paused: paused ? 1 : 0,
            secret_digest: secretDigest,
            created_at: createdAt,
            seen_at: seenAt,
            sealed: await encryptName(ownerId, id, name),
          })
          .compile(),
        bumpGeneration(database),
      ]);
    },

    async find(id) {
      const [row] = await database.read(build.selectFrom('devices').selectAll().where('id', '=', id).compile());
      return row === undefined ? null : { device: await decrypt(row), secretDigest: row.secret_digest };
    },

    async listCredentials(ids) {
      const columns = ['id', 'owner_id', 'state', 'paused', 'secret_digest'] as const;
      const query = build
        .selectFrom('devices')
        .select(columns)
        .where(isOneOf(dialect, 'id', ids));
      const rows = await database.read(query.compile());
      return rows.map(({ id, owner_id, state, paused, secret_digest }) => ({
        ...{
          id,
          ownerId: owner_id,
          state: state as Device['state'],
          paused: paused === 1,
          secretDigest: secret_digest,
        },
      }));
    },

    async list(ownerId, onDamaged) {
      const query = build.selectFrom('devices').selectAll().where('owner_id', '=', ownerId);
      const rows = await database.read(query.orderBy('created_at').orderBy('id').compile());
      return decryptAll(rows, decrypt, onDamaged);
    },

    async change(id, { state, paused, name }) {
      const [found] = await database.read(
        build.selectFrom('devices').select('owner_id').where('id', '=', id).compile(),
      );
      if (found === undefined) return null;
      const [changed] = await database.write([
        build
          .updateTable('devices')
          .set({
            ...(state !== undefined && { state }),
            ...(paused !== undefined && { paused: paused ? 1 : 0 }),
            ...(name !== undefined && { sealed: await encryptName(found.owner_id, id, name) }),
          })
          .where('id', '=', id)
          .returningAll()
          .compile(),
        bumpGeneration(database),
      ]);
      const row = changed?.rows[0] as Tables['devices'] | undefined;
      return row === undefined ? null : decrypt(row);
    },

    async changeSecret(id, secretDigest) {
      const [changed] = await database.write([
        build.updateTable('devices').set({ secret_digest: secretDigest }).where('id', '=', id).compile(),
        bumpGeneration(database),
      ]);
      return changed?.changes === 1;
    },

    async touch(ids, at) {
      // In one order everywhere, so that two processes cannot wait for each other.
      const ordered = [...new Set(ids)].sort();
      const inOrder = dialect === 'postgres' ? sql`order by id for update` : sql``;
      for (let done = 0; done < ordered.length; done += touchBatch) {
        const some = isOneOf(dialect, 'id', ordered.slice(done, done + touchBatch));
        // No cache knows this time, so the generation stays.
        const touch = sql`update devices set seen_at = cast(${at} as bigint) where id in (
          select id from devices where ${some} and coalesce(seen_at, 0) < ${at} ${inOrder}
        )`;
        await database.write([touch.compile(build)]);
      }
    },

    async listSeen() {
      const seen = build.selectFrom('devices').select('id').where('seen_at', 'is not', null);
      return (await database.read(seen.compile())).map(({ id }) => id);
    },

    async delete(id) {
      const [deleted] = await database.write([
        build.deleteFrom('devices').where('id', '=', id).compile(),
        build.deleteFrom('mqtt_sessions').where('device_id', '=', id).compile(),
        build.deleteFrom('mqtt_waiting').where('device_id', '=', id).compile(),
        bumpGeneration(database),
      ]);
      return deleted?.changes === 1;
    },
  };
}
