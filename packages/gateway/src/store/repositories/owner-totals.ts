import { sql } from 'kysely';
import { DecryptionFailed, type OwnerRepository, type OwnerTotals } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import type { Keyring } from '../vault/keyring.ts';
import { decryptKey } from './keys.ts';
import { createYielder } from './yielder.ts';

/** Every count uses an index that starts with the owner, so no table is scanned. */
export function createOwnerTotals(database: Database, keyring: Keyring): OwnerRepository['totals'] {
  const { build } = database;

  /** Decrypts the keys, since their revocation is encrypted. */
  async function countKeys(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    const yieldIfDue = createYielder();
    for (const row of await database.read(build.selectFrom('api_keys').selectAll().compile())) {
      await yieldIfDue();
      if (await isLive(row)) counts.set(row.owner_id, (counts.get(row.owner_id) ?? 0) + 1);
    }
    return counts;
  }

  /** A key that cannot be decrypted is not accepted. */
  async function isLive(row: Parameters<typeof decryptKey>[1]): Promise<boolean> {
    try {
      return (await decryptKey(keyring.master, row)).value.revokedAt === null;
    } catch (error) {
      if (error instanceof DecryptionFailed) return false;
      throw error;
    }
  }

  return async () => {
    const of = sql`owner_id = o.id`;
    const rows = await database.read(
      sql<Omit<OwnerTotals, 'keys'>>`select o.id as "ownerId",
          (select count(*) from devices where ${of}) as devices,
          (select count(*) from push_targets where ${of}) as "pushTargets",
          (select count(*) from deliveries where ${of} and next_at is not null) as waiting,
          (select count(*) from deliveries where ${of} and state = 'dead') as dead,
          (select created_at from notifications where ${of} order by id desc limit 1) as "newestAt"
        from owners as o order by o.created_at, o.id`.compile(build),
    );
    const keys = await countKeys();
    return rows.map((row) => ({ ...row, keys: keys.get(row.ownerId) ?? 0 }));
  };
}
