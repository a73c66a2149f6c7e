// Hooks. As with API keys, everything that decides about a hook is encrypted with the master key, the digests of its tokens
// and its signing secret included, and an earlier state of a hook is refused because of its version (`row-versions.ts`).
import { type CompiledQuery, sql } from 'kysely';
import {
  DecryptionFailed,
  EncryptionKeyMissing,
  type Hook,
  type HookRepository,
  StoreUnavailable,
} from '../../usecases/ports/index.ts';
import { ConstraintViolated, type Database, type EncryptionKey } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { decryptMasterVersioned, decryptOrReport, encryptVersioned, rejectRefused } from '../vault/encrypted-rows.ts';
import type { Keyring } from '../vault/keyring.ts';
import type { RowVersions } from '../vault/row-versions.ts';
import { childName, nodesAbove, type Versioned } from '../vault/version-tree.ts';
import { lockOwner } from './lock-owner.ts';

export function createHookRepository(database: Database, keyring: Keyring, versions: RowVersions): HookRepository {
  const { build, dialect } = database;
  const select = build.selectFrom('hooks').selectAll().select(nodesAbove('hooks'));

  const decrypt = (row: Tables['hooks']): Promise<Versioned<Hook>> =>
    decryptMasterVersioned<Hook>(keyring.master, 'hooks', row);

  function encryptHook(master: EncryptionKey, hook: Hook, version: number): Buffer {
    return encryptVersioned(master, 'hooks', hook.ownerId, hook.id, hook, version);
  }

  function insertTokens({ id, ownerId, tokens }: Hook): CompiledQuery[] {
    return tokens.map(({ digest }) =>
      build.insertInto('hook_tokens').values({ owner_id: ownerId, digest, hook_id: id }).compile(),
    );
  }

  function deleteTokens({ id, ownerId }: Pick<Hook, 'id' | 'ownerId'>): CompiledQuery {
    return build.deleteFrom('hook_tokens').where('owner_id', '=', ownerId).where('hook_id', '=', id).compile();
  }

  async function ownerOf(id: string): Promise<string | null> {
    const [row] = await database.read(build.selectFrom('hooks').select('owner_id').where('id', '=', id).compile());
    return row?.owner_id ?? null;
  }

  return {
    async create(hook) {
      const { id, ownerId, createdAt } = hook;
      try {
        await versions.write(ownerId, async (version) => ({
          children: { [childName('hooks', id)]: version },
          rows: (master) => {
            const sealed = encryptHook(master, hook, version);
            const insert = sql`insert into hooks (owner_id, id, created_at, sealed)
              select owners.id, ${id}, ${createdAt}, ${sealed} ${lockOwner(dialect, ownerId)}`.compile(build);
            return { queries: [insert, ...insertTokens(hook)], written: { table: 'hooks', ownerId, sealed } };
          },
        }));
      } catch (error) {
        if (!(error instanceof ConstraintViolated)) throw error;
        throw new EncryptionKeyMissing('the owner was deleted', { cause: error });
      }
    },

    async find(digest) {
      const ids = build.selectFrom('hook_tokens').select('hook_id').where('digest', '=', digest);
      const query = select.where('id', 'in', ids).compile();
      try {
        const hook = await versions.find('hooks', async () => (await database.read(query))[0], decrypt);
        return hook?.tokens.some((token) => token.digest === digest) ? hook : null;
      } catch (error) {
        if (error instanceof DecryptionFailed)
          throw new StoreUnavailable(`a hook cannot be verified: ${error.message}`);
        throw error;
      }
    },

    async list(ownerId, onDamaged) {
      const query = select.where('owner_id', '=', ownerId).orderBy('created_at').orderBy('id').compile();
      const onRefused = onDamaged ?? rejectRefused('hooks');
      return versions.list('hooks', () => database.read(query), decryptOrReport(decrypt, onDamaged), onRefused);
    },

    async change(id, change) {
      const ownerId = await ownerOf(id);
      if (ownerId === null) return null;
      let changed: Hook | null = null;
      await versions.write(ownerId, async (version) => {
        const [row] = await database.read(build.selectFrom('hooks').selectAll().where('id', '=', id).compile());
        if (row === undefined) return null;
        const next = change((await decrypt(row)).value);
        changed = next;
        return {
          children: { [childName('hooks', id)]: version },
          rows: (master) => {
            const sealed = encryptHook(master, next, version);
            const update = build.updateTable('hooks').set({ sealed }).where('id', '=', id).compile();
            return {
              queries: [update, deleteTokens(next), ...insertTokens(next)],
              written: { table: 'hooks', ownerId, sealed },
            };
          },
        };
      });
      return changed;
    },

    async delete(id) {
      const ownerId = await ownerOf(id);
      if (ownerId === null) return false;
      const query = build.deleteFrom('hooks').where('owner_id', '=', ownerId).where('id', '=', id).compile();
      const results = await versions.write(ownerId, async () => ({
        children: { [childName('hooks', id)]: null },
        rows: () => ({ queries: [query, deleteTokens({ id, ownerId })] }),
      }));
      return results?.[0]?.changes === 1;
    },
  };
}
