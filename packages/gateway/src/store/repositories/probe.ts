// Repeats an operation that failed, without side effects, to find out whether it fails for all owners or for one.
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { createUuidV7Source } from '../../core/uuid-v7.ts';
import type { HookRepository, KeyRepository, OwnerRepository, Store } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import { encrypt } from '../vault/cipher.ts';
import { contextOf } from '../vault/encrypted-rows.ts';
import type { Keyring } from '../vault/keyring.ts';

/** Other owners or keys that are tried, since damage to one owner's rows does not make the store unavailable. */
const otherCandidates = 3;

export function createProbe(
  database: Database,
  keyring: Keyring,
  keys: Pick<KeyRepository, 'find'>,
  hooks: Pick<HookRepository, 'find'>,
  owners: Pick<OwnerRepository, 'recipientsOf'>,
): Store['probe'] {
  const { build } = database;
  const newId = createUuidV7Source(Date.now, randomUUID);

  /** Inserts a notification and deletes it in the same transaction. */
  async function save(ownerId: string): Promise<void> {
    const id = newId();
    const context = contextOf('notifications', { owner_id: ownerId, id });
    const row = {
      owner_id: ownerId,
      id,
      created_at: Date.now(),
      sealed: encrypt(await keyring.current(ownerId), context, '{}'),
    };
    const dispatch = { owner_id: ownerId, notification_id: id, targets: '{}', results: null, lease_until: 0 };
    await database.write([
      build.insertInto('notifications').values(row).compile(),
      build.insertInto('dispatches').values(dispatch).compile(),
      build.deleteFrom('dispatches').where('owner_id', '=', ownerId).where('notification_id', '=', id).compile(),
      build.deleteFrom('notifications').where('owner_id', '=', ownerId).where('id', '=', id).compile(),
    ]);
  }

  /** The failed one first, if it still exists. */
  async function candidates(
    table: 'owners' | 'api_keys' | 'hook_tokens',
    column: 'id' | 'digest',
    id: string,
  ): Promise<string[]> {
    const ids = build.selectFrom(table).select(sql<string>`${sql.ref(column)}`.as('id'));
    const [same, rest] = await Promise.all([
      database.read(ids.where(sql.ref(column), '=', id).compile()),
      database.read(ids.where(sql.ref(column), '<>', id).limit(otherCandidates).compile()),
    ]);
    return [...same, ...rest].map((row) => row.id);
  }

  const probes = {
    save: { candidates: (id: string) => candidates('owners', 'id', id), attempt: save },
    key: {
      candidates: (id: string) => candidates('api_keys', 'digest', id),
      attempt: (id: string): Promise<unknown> => keys.find(id),
    },
    hook: {
      candidates: (id: string) => candidates('hook_tokens', 'digest', id),
      attempt: (id: string): Promise<unknown> => hooks.find(id),
    },
    recipients: {
      candidates: (id: string) => candidates('owners', 'id', id),
      attempt: (id: string): Promise<unknown> => owners.recipientsOf(id),
    },
  };

  return async ({ kind, id }) => {
    const { candidates: list, attempt } = probes[kind];
    const failed: unknown[] = [];
    for (const candidate of await list(id)) {
      try {
        await attempt(candidate);
        return;
      } catch (error) {
        failed.push(error);
      }
    }
    if (failed.length > 0) throw failed[0];
  };
}
