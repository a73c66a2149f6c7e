// Whether the master key at hand is the one that a backup was sealed with.
import type { SQLInputValue } from 'node:sqlite';
import { DatabaseSync } from 'node:sqlite';
import type { CompiledQuery } from 'kysely';
import { Problem } from '../core/problem.ts';
import type { MasterKeySource } from './master-key.ts';
import { MasterKeyring } from './master-keyring.ts';
import { createSqliteDatabase } from './sqlite/database.ts';

/** Rejects with what is wrong with the key; makes none. */
export async function proveKeyOfBackup(file: string, source: MasterKeySource): Promise<void> {
  const db = new DatabaseSync(file, { readOnly: true });
  const noProof = (): never => {
    throw new Problem(`The backup ${file} holds nothing that would prove its master key.`);
  };
  const database = {
    ...createSqliteDatabase(file),
    read: async <Row>({ sql, parameters }: CompiledQuery<Row>) =>
      db.prepare(sql).all(...(parameters as SQLInputValue[])) as Row[],
    write: async () => noProof(),
  };
  try {
    await MasterKeyring.open(database, { ...source, create: noProof }, () => undefined);
  } catch (error) {
    // Where there is no key at all, the keyring says what to do.
    if (!(error instanceof Problem) || source.read().length === 0) throw error;
    throw new Problem(
      `The backup ${file} was sealed with another master key than ${source.name} holds. If it is from before a rotation, ` +
        `put the key of that time ${source.file === null ? 'behind the present one, after a comma' : 'on a line of its own behind the present one'}.`,
    );
  } finally {
    db.close();
  }
}
