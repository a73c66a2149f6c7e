import type { Device, Recipients } from '../../core/recipients.ts';
import {
  DecryptionFailed,
  EncryptionKeyMissing,
  type Owner,
  type OwnerRepository,
  type PushTargetRepository,
} from '../../usecases/ports/index.ts';
import type { EncryptionKey } from '../schema/database.ts';
import { ConstraintViolated, type Database } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { decryptVersioned, encryptVersioned, rejectRefused } from '../vault/encrypted-rows.ts';
import type { Keyring } from '../vault/keyring.ts';
import type { RowQueries, RowVersions } from '../vault/row-versions.ts';
import { childName, nodesAbove, type Versioned } from '../vault/version-tree.ts';
import { createOwnerTotals } from './owner-totals.ts';
import { deleteHighVolumeRows, deleteNotifications } from './purge.ts';

type Profile = Omit<Owner, 'id' | 'createdAt'>;

/** Fields that rows of earlier releases lack. */
const defaultsForOldRows = { role: 'owner', quietHours: null, retentionDays: null } as const;

/**
 * Rows deleted in the transaction that deletes an owner. The others are deleted afterwards in batches; without the data
 * key they cannot be decrypted any more.
 */
const ownedTables = [
  'api_keys',
  'hooks',
  'hook_tokens',
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

export function createOwnerRepository(
  database: Database,
  keyring: Keyring,
  pushTargets: Pick<PushTargetRepository, 'list'>,
  versions: RowVersions,
): OwnerRepository {
  const { build } = database;

  const select = build.selectFrom('owners').selectAll().select(nodesAbove('owners'));

  async function decrypt(row: Tables['owners']): Promise<Versioned<Owner>> {
    const { value, rowVersion } = await decryptVersioned<Profile>(keyring, 'owners', { ...row, owner_id: row.id });
    return { value: { ...defaultsForOldRows, id: row.id, createdAt: row.created_at, ...value }, rowVersion };
  }

  /** Rejects with DecryptionFailed if the row was altered or rolled back. */
  async function find(id: string): Promise<Owner | null> {
    const query = select.where('id', '=', id).compile();
    const [owner] = await versions.list('owners', () => database.read(query), decrypt, rejectRefused('owners'));
    return owner ?? null;
  }

  /** Inserts a new owner with a data key. */
  function insertOwner(master: EncryptionKey, { id, createdAt, ...profile }: Owner, version: number): RowQueries {
    const { key, row } = keyring.create(master, id, createdAt);
    const sealed = encryptVersioned(key, 'owners', id, id, profile, version);
    return {
      queries: [
        build.insertInto('data_keys').values(row).compile(),
        build.insertInto('owners').values({ id, created_at: createdAt, sealed }).compile(),
      ],
    };
  }

  /** false if the owner was deleted. */
  async function replaceOwner(id: string, change: () => Promise<Owner | null>): Promise<boolean> {
    try {
      const results = await versions.write(id, async (version) => {
        const changed = await change();
        if (changed === null) return null;
        const { id: _, createdAt: __, ...profile } = changed;
        const sealed = encryptVersioned(await keyring.current(id), 'owners', id, id, profile, version);
        const update = build.updateTable('owners').set({ sealed }).where('id', '=', id).compile();
        return {
          children: { [childName('owners', id)]: version },
          rows: () => ({ queries: [update], written: { table: 'owners', ownerId: id, sealed } }),
        };
      });
      return results !== null;
    } catch (error) {
      if (error instanceof ConstraintViolated) return false;
      throw error;
    }
  }

  return {
    find,

    async create(owner) {
      await versions.write(owner.id, async (version) => ({
        children: { [childName('owners', owner.id)]: version },
        rows: (master) => insertOwner(master, owner, version),
      }));
    },

    async createFirst(owner) {
      const anyOwner = build.selectFrom('owners').select('id').limit(1).compile();
      const results = await versions.write(owner.id, async (version) =>
        // Concurrent callers change the same head: the second is retried, and then finds the owner.
        (await database.read(anyOwner)).length > 0
          ? null
          : {
              children: { [childName('owners', owner.id)]: version },
              rows: (master) => insertOwner(master, owner, version),
            },
      );
      return results !== null;
    },

    async hasAny() {
      return (await database.read(build.selectFrom('owners').select('id').limit(1).compile())).length > 0;
    },

    async list(onDamaged) {
      const query = select.orderBy('created_at').orderBy('id').compile();
      const decryptAny = async (row: Tables['owners']): Promise<Versioned<Owner> | null> => {
        if (onDamaged === undefined) return decrypt(row);
        const decrypted = await orIfUnreadable(decrypt(row), null);
        if (decrypted === null) onDamaged(row.id);
        return decrypted;
      };
      const onRefused = onDamaged ?? rejectRefused('owners');
      return versions.list('owners', () => database.read(query), decryptAny, onRefused);
    },

    update: (owner) => replaceOwner(owner.id, async () => owner),

    async change(id, change) {
      let changed: Owner | null = null;
      const isChanged = await replaceOwner(id, async () => {
        const owner = await find(id);
        changed = owner === null ? null : change(owner);
        return changed;
      });
      return isChanged ? changed : null;
    },

    async delete(id) {
      const ofOwner = ownedTables.map((table) => build.deleteFrom(table).where('owner_id', '=', id).compile());
      const [deleted] = await versions.removeOwner(id, [
        build.deleteFrom('owners').where('id', '=', id).compile(),
        ...ofOwner,
      ]);
      keyring.forget(id);
      await deleteHighVolumeRows(database, id);
      await deleteNotifications(database, id, null);
      // Only then the wrapped data key is gone from all files.
      await database.truncateLog?.();
      return deleted?.changes === 1;
    },

    totals: createOwnerTotals(database, keyring),

    async recipientsOf(ownerId): Promise<Recipients> {
      const devices = build.selectFrom('devices').select(['id', 'state', 'paused']).where('owner_id', '=', ownerId);
      const [owner, ownPushTargets, ownDevices] = await Promise.all([
        orIfUnreadable(find(ownerId), null),
        orIfUnreadable(pushTargets.list(ownerId), []),
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
  };
}

/** Treats a row that cannot be decrypted as missing, so that the other channels still deliver. */
export async function orIfUnreadable<T, Instead>(reading: Promise<T>, instead: Instead): Promise<T | Instead> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof DecryptionFailed || error instanceof EncryptionKeyMissing) return instead;
    throw error;
  }
}
