import { sql } from 'kysely';
import type { Database } from '../../gateway/src/store/schema/database.ts';
import { encryptedColumns, keyOf, rowsOf } from '../../gateway/src/store/upkeep/encrypted-columns.ts';
import { encrypt } from '../../gateway/src/store/vault/cipher.ts';
import { Keyring } from '../../gateway/src/store/vault/keyring.ts';
import { masterKeySource } from '../../gateway/src/store/vault/master-key.ts';
import { MasterKeyring } from '../../gateway/src/store/vault/master-keyring.ts';
import { versionedTables } from '../../gateway/src/store/vault/version-tree.ts';

/** Rewrites the rows of all tables, or of those given, as a version wrote them that had no row versions. */
export async function withoutRowVersions(
  database: Database,
  masterKeyFile: string,
  tables: readonly string[] = versionedTables,
): Promise<void> {
  const master = await MasterKeyring.open(database, masterKeySource(null, masterKeyFile), () => undefined);
  const keyring = new Keyring(database, master);
  for (const column of encryptedColumns.filter(({ table }) => tables.includes(table))) {
    for await (const row of rowsOf(database, column)) {
      const key = keyOf(column, row);
      const context = column.contextOf(key);
      const ofOwner = column.encryptedWith === 'data key';
      const value = await (ofOwner ? keyring : master).decrypt(context, row.sealed as Uint8Array);
      const { rowVersion: _, ...rest } = JSON.parse(value.toString('utf8')) as { rowVersion?: number };
      const sealed = encrypt(
        ofOwner ? await keyring.current(context.ownerId) : master.current,
        context,
        JSON.stringify(rest),
      );
      const isRow = column.key.map((name, index) => sql`${sql.ref(name)} = ${key[index]}`);
      const update = sql`update ${sql.table(column.table)} set sealed = ${sealed} where ${sql.join(isRow, sql` and `)}`;
      await database.write([update.compile(database.build)]);
    }
  }
  if (tables === versionedTables) await database.write([database.build.deleteFrom('row_versions').compile()]);
}
