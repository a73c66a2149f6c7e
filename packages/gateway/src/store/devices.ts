import type { Device } from '../core/plan.ts';
import type { Store, StoredDevice } from '../gateway/ports.ts';
import type { Database } from './database.ts';
import type { Keyring } from './keyring.ts';
import { bumpGeneration } from './owners.ts';
import { openAll, openValue, sealValue } from './sealed-columns.ts';
import type { Tables } from './tables.ts';

export type DeviceStore = Pick<Store, 'createDevice' | 'findDevice' | 'listDevices' | 'changeDevice' | 'deleteDevice'>;

export function createDeviceStore(database: Database, keyring: Keyring): DeviceStore {
  const { build } = database;

  async function open(row: Tables['devices']): Promise<StoredDevice> {
    const { name } = await openValue<{ name: string }>(keyring, 'devices', row);
    return {
      id: row.id,
      ownerId: row.owner_id,
      name,
      state: row.state as Device['state'],
      paused: row.paused === 1,
      createdAt: row.created_at,
    };
  }

  return {
    async createDevice({ id, ownerId, name, state, paused, createdAt }, secretDigest) {
      const sealed = sealValue(await keyring.current(ownerId), 'devices', ownerId, id, { name });
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
            sealed,
          })
          .compile(),
        bumpGeneration(database),
      ]);
    },

    async findDevice(id) {
      const [row] = await database.read(build.selectFrom('devices').selectAll().where('id', '=', id).compile());
      return row === undefined ? null : { device: await open(row), secretDigest: row.secret_digest };
    },

    async listDevices(ownerId, onDamaged) {
      const query = build.selectFrom('devices').selectAll().where('owner_id', '=', ownerId);
      const rows = await database.read(query.orderBy('created_at').orderBy('id').compile());
      return openAll(rows, open, onDamaged);
    },

    async changeDevice(id, { state, paused }) {
      const [changed] = await database.write([
        build
          .updateTable('devices')
          .set({ ...(state !== undefined && { state }), ...(paused !== undefined && { paused: paused ? 1 : 0 }) })
          .where('id', '=', id)
          .returningAll()
          .compile(),
        bumpGeneration(database),
      ]);
      const row = changed?.rows[0] as Tables['devices'] | undefined;
      return row === undefined ? null : open(row);
    },

    async deleteDevice(id) {
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
