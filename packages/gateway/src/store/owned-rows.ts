// Rows that let an owner in: kept only while the owner is there, and as good as absent where they do not open.
import { sql } from 'kysely';
import { AlreadyTaken } from '../gateway/ports/sign-in.ts';
import { EncryptionKeyMissing, SealBroken } from '../gateway/ports.ts';
import { ConstraintViolated, type Database } from './database.ts';
import type { Keyring } from './keyring.ts';
import { livingOwner } from './owners.ts';
import { openValue, sealValue } from './sealed-columns.ts';
import type { Tables } from './tables.ts';

type OwnedTable = 'sessions' | 'one_time_links' | 'passkeys' | 'oidc_identities';
type Clear<T extends OwnedTable> = Omit<Tables[T], 'owner_id' | 'sealed'>;

export interface OwnedRows {
  /** Rejects with AlreadyTaken where the digest is known, and with EncryptionKeyMissing where the owner is gone. */
  insert<T extends OwnedTable>(table: T, ownerId: string, id: string, value: unknown, clear: Clear<T>): Promise<void>;
  /** The value for a row that is there, to be written in the place of its own. */
  seal(table: OwnedTable, row: { ownerId: string; id: string }, value: unknown): Promise<Buffer>;
  /**
   * null also where `toValue` finds that the row was altered beside its seal. Rejects with EncryptionKeyMissing where the
   * key is not there: whoever is signed in is not to be told that they are not, since the key may come back.
   */
  open<Sealed, T>(
    table: OwnedTable,
    row: { owner_id: string; id: string; sealed: Uint8Array },
    toValue: (sealed: Sealed) => T | null,
  ): Promise<T | null>;
  readable<Row, T>(rows: readonly Row[], open: (row: Row) => Promise<T | null>): Promise<T[]>;
  remove(table: Exclude<OwnedTable, 'one_time_links'>, ownerId: string, id: string): Promise<boolean>;
}

export function createOwnedRows(database: Database, keyring: Keyring): OwnedRows {
  const { build, dialect } = database;
  return {
    async insert(table, ownerId, id, value, clear) {
      const sealed = sealValue(await keyring.current(ownerId), table, ownerId, id, value);
      const columns = Object.entries({ ...clear, sealed });
      const names = sql.join(columns.map(([name]) => sql.ref(name)));
      const values = sql.join(columns.map(([, each]) => each));
      const insert = sql`insert into ${sql.table(table)} (owner_id, ${names})
        select owners.id, ${values} ${livingOwner(dialect, ownerId)}`;
      try {
        const [inserted] = await database.write([insert.compile(build)]);
        if (inserted?.changes !== 1) throw new EncryptionKeyMissing('the owner was deleted');
      } catch (error) {
        if (!(error instanceof ConstraintViolated)) throw error;
        throw new AlreadyTaken('this belongs to somebody already', { cause: error });
      }
    },

    async seal(table, { ownerId, id }, value) {
      return sealValue(await keyring.current(ownerId), table, ownerId, id, value);
    },

    async open<Sealed, T>(
      table: OwnedTable,
      row: { owner_id: string; id: string; sealed: Uint8Array },
      toValue: (sealed: Sealed) => T | null,
    ) {
      try {
        return toValue(await openValue<Sealed>(keyring, table, row));
      } catch (error) {
        if (error instanceof SealBroken) return null;
        throw error;
      }
    },

    async readable(rows, open) {
      return (await Promise.all(rows.map(open))).filter((each) => each !== null);
    },

    async remove(table, ownerId, id) {
      const [deleted] = await database.write([
        build.deleteFrom(table).where('owner_id', '=', ownerId).where('id', '=', id).compile(),
      ]);
      return deleted?.changes === 1;
    },
  };
}
