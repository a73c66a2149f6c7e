import { sql } from 'kysely';
import type { Device, Recipients } from '../core/plan.ts';
import {
  type DirectoryStore,
  EncryptionKeyMissing,
  type Owner,
  type OwnerStore,
  type PushTargetStore,
  SealBroken,
} from '../gateway/ports.ts';
import type { Database, Dialect } from './database.ts';
import type { Keyring } from './keyring.ts';
import { deleteNotifications, deleteOfOwner } from './notifications.ts';
import { openValue, sealValue } from './sealed-columns.ts';
import type { Tables } from './tables.ts';

type Profile = Omit<Owner, 'id' | 'createdAt'>;

/** What rows from before lack. */
const laterFields = { role: 'owner', quietHours: null, retentionDays: null } as const;

/** What goes with an owner at once, the data key first of all; the rest, which may be much, follows in batches and cannot be read any more. */
const ownedTables = [
  'api_keys',
  'devices',
  'push_targets',
  'mqtt_sessions',
  'sessions',
  'one_time_links',
  'passkeys',
  'oidc_identities',
  'inbox_states',
  'data_keys',
] as const;

/** Goes into the same transaction as every change that a cache elsewhere must notice. */
export function bumpGeneration(database: Database) {
  return database.build.updateTable('changes').set({ generation: sql`generation + 1` }).where('id', '=', 1).compile();
}

/** `from owners`, with the owner held against deletion: whoever deletes it finds what was put in meanwhile. */
export function livingOwner(dialect: Dialect, ownerId: string) {
  return sql`from owners where id = ${ownerId} ${dialect === 'postgres' ? sql`for key share` : sql``}`;
}

export function createOwnerStore(
  database: Database,
  keyring: Keyring,
  pushTargets: Pick<PushTargetStore, 'listPushTargets'>,
): Omit<OwnerStore, 'ownerTotals'> & Omit<DirectoryStore, 'findKey'> {
  const { build } = database;

  async function open(row: Tables['owners']): Promise<Owner> {
    const profile = await openValue<Profile>(keyring, 'owners', { ...row, owner_id: row.id });
    return { ...laterFields, id: row.id, createdAt: row.created_at, ...profile };
  }

  async function findOwner(id: string): Promise<Owner | null> {
    const [row] = await database.read(build.selectFrom('owners').selectAll().where('id', '=', id).compile());
    return row === undefined ? null : open(row);
  }

  return {
    findOwner,

    async createOwner({ id, createdAt, ...profile }) {
      await keyring.master.write((master) => {
        const { key, row } = keyring.create(master, id, createdAt);
        const sealed = sealValue(key, 'owners', id, id, profile);
        return [
          build.insertInto('data_keys').values(row).compile(),
          build.insertInto('owners').values({ id, created_at: createdAt, sealed }).compile(),
          bumpGeneration(database),
        ];
      });
    },

    async createFirstOwner({ id, createdAt, ...profile }) {
      const nobody = sql<boolean>`not exists (select 1 from owners)`;
      const [, , created] = await keyring.master.write((master) => {
        const { key, row } = keyring.create(master, id, createdAt);
        const sealed = sealValue(key, 'owners', id, id, profile);
        const dataKey = sql`select ${row.owner_id}, ${row.version}, ${row.wrapped}, ${row.created_at} where ${nobody}`;
        const owner = sql`select ${id}, ${createdAt}, ${sealed} where ${nobody}`;
        return [
          // First: whoever tries at the same moment waits for this row, and then sees the owner.
          bumpGeneration(database),
          sql`insert into data_keys (owner_id, version, wrapped, created_at) ${dataKey}`.compile(build),
          sql`insert into owners (id, created_at, sealed) ${owner}`.compile(build),
        ];
      });
      return created?.changes === 1;
    },

    async hasOwners() {
      return (await database.read(build.selectFrom('owners').select('id').limit(1).compile())).length > 0;
    },

    async listOwners(onDamaged) {
      const rows = await database.read(
        build.selectFrom('owners').selectAll().orderBy('created_at').orderBy('id').compile(),
      );
      const opened = await Promise.all(
        rows.map((row) => (onDamaged === undefined ? open(row) : orIfUnreadable(open(row), row.id))),
      );
      return opened.filter((each) => {
        if (typeof each !== 'string') return true;
        onDamaged?.(each);
        return false;
      }) as Owner[];
    },

    async updateOwner({ id, createdAt: _, ...profile }) {
      const sealed = sealValue(await keyring.current(id), 'owners', id, id, profile);
      const [updated] = await database.write([
        build.updateTable('owners').set({ sealed }).where('id', '=', id).compile(),
        bumpGeneration(database),
      ]);
      return updated?.changes === 1;
    },

    async changeOwner(id, change) {
      for (;;) {
        const [row] = await database.read(build.selectFrom('owners').selectAll().where('id', '=', id).compile());
        if (row === undefined) return null;
        const changed = change(await open(row));
        const { id: _, createdAt: __, ...profile } = changed;
        const sealed = sealValue(await keyring.current(id), 'owners', id, id, profile);
        const update = build.updateTable('owners').set({ sealed }).where('id', '=', id);
        const [updated] = await database.write([
          update.where('sealed', '=', row.sealed).compile(),
          bumpGeneration(database),
        ]);
        if (updated?.changes === 1) return changed;
      }
    },

    async deleteOwner(id) {
      const ofOwner = ownedTables.map((table) => build.deleteFrom(table).where('owner_id', '=', id).compile());
      const [deleted] = await database.write([
        build.deleteFrom('owners').where('id', '=', id).compile(),
        ...ofOwner,
        bumpGeneration(database),
      ]);
      keyring.forget(id);
      await deleteOfOwner(database, id);
      await deleteNotifications(database, id, null);
      // The wrapped data key is shredded only when no file holds it any more.
      await database.wipe?.();
      return deleted?.changes === 1;
    },

    async recipientsOf(ownerId): Promise<Recipients> {
      const devices = build.selectFrom('devices').select(['id', 'state', 'paused']).where('owner_id', '=', ownerId);
      const [owner, ownPushTargets, ownDevices] = await Promise.all([
        orIfUnreadable(findOwner(ownerId), null),
        orIfUnreadable(pushTargets.listPushTargets(ownerId), []),
        database.read(devices.orderBy('created_at').orderBy('id').compile()),
      ]);
      return {
        email: owner?.email ?? null,
        emailAlerts: owner?.emailAlerts ?? false,
        quietHours: owner?.quietHours ?? null,
        devices: ownDevices.map((row) => ({
          id: row.id,
          state: row.state as Device['state'],
          paused: row.paused === 1,
        })),
        pushTargets: ownPushTargets
          .filter(({ disabledAt }) => disabledAt === null)
          .map(({ id, provider, token }) => ({ id, provider, token })),
      };
    },

    async readChanges() {
      const irregular = build.selectFrom('api_keys').select('id').where('irregular', '=', sql.lit(1)).limit(1);
      const [row] = await database.read(
        build
          .selectFrom('changes')
          .select('generation')
          .select((eb) => eb.exists(irregular).as('irregular'))
          .where('id', '=', 1)
          .compile(),
      );
      if (row === undefined) throw new Error('The table "changes" has lost its row.');
      return { generation: row.generation, hasIrregularKeys: Boolean(row.irregular) };
    },
  };
}

/** A row that does not open is as one that is not there: the other channels still ring. */
export async function orIfUnreadable<T, Instead>(reading: Promise<T>, instead: Instead): Promise<T | Instead> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof SealBroken || error instanceof EncryptionKeyMissing) return instead;
    throw error;
  }
}
