// Credential rows (sessions, one-time links, passkeys, identities): deleted with their owner; rows that cannot be decrypted
// are treated as missing.
import { type RawBuilder, sql } from 'kysely';
import { DecryptionFailed, EncryptionKeyMissing } from '../../usecases/ports/index.ts';
import { AlreadyTaken } from '../../usecases/ports/sign-in.ts';
import { ConstraintViolated, type Database } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { decryptVersioned, encryptVersioned } from '../vault/encrypted-rows.ts';
import type { Keyring } from '../vault/keyring.ts';
import type { RowVersions } from '../vault/row-versions.ts';
import { childName, keyOf, type NodesAbove, nodesAbove, type Versioned } from '../vault/version-tree.ts';
import { lockOwner } from './lock-owner.ts';

type CredentialTable = 'sessions' | 'one_time_links' | 'passkeys' | 'oidc_identities';
/** The columns that are not encrypted. */
type PlainColumns<T extends CredentialTable> = Omit<Tables[T], 'owner_id' | 'sealed'>;

export interface CredentialRows {
  /** Rejects with AlreadyTaken if the digest is registered, and with EncryptionKeyMissing if the owner was deleted. */
  insert<T extends CredentialTable>(
    table: T,
    ownerId: string,
    id: string,
    value: object,
    plain: PlainColumns<T>,
  ): Promise<void>;
  /**
   * null also if the row was rolled back, and if `toValue` finds that its plaintext columns were altered. Rejects with
   * EncryptionKeyMissing if the data key is missing: the session is not reported as ended, since the key may be restored.
   */
  find<T extends CredentialTable, Sealed, Value>(
    table: T,
    where: RawBuilder<unknown>,
    toValue: (row: Tables[T], sealed: Sealed) => Value | null,
  ): Promise<Value | null>;
  /** Leaves out rows that `find` would not find. */
  list<T extends CredentialTable, Sealed, Value>(
    table: T,
    where: RawBuilder<unknown>,
    toValue: (row: Tables[T], sealed: Sealed) => Value | null,
  ): Promise<Value[]>;
  remove(table: CredentialTable, ownerId: string, id: string): Promise<boolean>;
}

export function createCredentialRows(database: Database, keyring: Keyring, versions: RowVersions): CredentialRows {
  const { build, dialect } = database;

  function list<T extends CredentialTable, Sealed, Value>(
    table: T,
    where: RawBuilder<unknown>,
    toValue: (row: Tables[T], sealed: Sealed) => Value | null,
  ): Promise<Value[]> {
    type Row = Tables[T] & NodesAbove;
    const query = sql<Row>`select *, ${sql.join(nodesAbove(table))} from ${sql.table(table)} where ${where}`.compile(
      build,
    );
    const decrypt = async (row: Row): Promise<Versioned<Value> | null> => {
      try {
        const { ownerId, id } = keyOf(table, row);
        const encrypted = { owner_id: ownerId, id, sealed: row.sealed };
        const { value: sealed, rowVersion } = await decryptVersioned<Sealed>(keyring, table, encrypted);
        const value = toValue(row, sealed);
        return value === null ? null : { value, rowVersion };
      } catch (error) {
        if (error instanceof DecryptionFailed) return null;
        throw error;
      }
    };
    return versions.list(table, () => database.read(query), decrypt);
  }

  return {
    async insert(table, ownerId, id, value, plain) {
      const key = await keyring.current(ownerId);
      try {
        await versions.write(ownerId, async (version) => {
          const sealed = encryptVersioned(key, table, ownerId, id, value, version);
          const columns = Object.entries({ ...plain, sealed });
          const names = sql.join(columns.map(([name]) => sql.ref(name)));
          const values = sql.join(columns.map(([, each]) => each));
          const insert = sql`insert into ${sql.table(table)} (owner_id, ${names})
            select owners.id, ${values} ${lockOwner(dialect, ownerId)}`.compile(build);
          return {
            children: { [childName(table, id)]: version },
            rows: () => ({ queries: [insert], written: { table, ownerId, sealed } }),
          };
        });
      } catch (error) {
        if (!(error instanceof ConstraintViolated)) throw error;
        const owner = await database.read(build.selectFrom('owners').select('id').where('id', '=', ownerId).compile());
        if (owner.length === 0) throw new EncryptionKeyMissing('the owner was deleted');
        throw new AlreadyTaken('this credential is registered already', { cause: error });
      }
    },

    find: async (table, where, toValue) => (await list(table, where, toValue))[0] ?? null,
    list,

    async remove(table, ownerId, id) {
      const idColumn = sql.ref(table === 'one_time_links' ? 'token_digest' : 'id');
      const query = sql`delete from ${sql.table(table)} where owner_id = ${ownerId} and ${idColumn} = ${id}`.compile(
        build,
      );
      const results = await versions.write(ownerId, async () => ({
        children: { [childName(table, id)]: null },
        rows: () => ({ queries: [query] }),
      }));
      return results?.[0]?.changes === 1;
    },
  };
}
