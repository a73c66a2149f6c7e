// Checks whether the configured master key is the one that a backup was encrypted with.
import { readFileSync } from 'node:fs';
import type { SQLInputValue } from 'node:sqlite';
import { DatabaseSync } from 'node:sqlite';
import type { CompiledQuery } from 'kysely';
import { parseMasterKeys } from '../../core/master-key-format.ts';
import { Problem } from '../../core/problem.ts';
import { createSqliteDatabase } from '../sqlite/database.ts';
import type { MasterKeySource } from '../vault/master-key.ts';
import { MasterKeyring } from '../vault/master-keyring.ts';
import { oldKeyFiles } from '../vault/old-keys.ts';

/** Rejects with a Problem if the key is wrong or missing; never creates one. */
export async function proveKeyOfBackup(file: string, source: MasterKeySource): Promise<void> {
  const db = new DatabaseSync(file, { readOnly: true });
  const noProof = (): never => {
    throw new Problem(`The backup ${file} has no proof of its master key.`);
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
    // If there is no key at all, the error of the keyring says what to do.
    if (!(error instanceof Problem) || source.read().length === 0) throw error;
    const saved = await findSavedKey(source, (candidate) => MasterKeyring.open(database, candidate, () => undefined));
    if (saved !== null) {
      throw new Problem(
        `The backup ${file} was made before a rotation of the master key. Its key is in ${saved}: append it to the current ` +
          `one with 'cat ${saved} >> ${source.name}', and run this again; 'tocsin master-key rotate' retires it afterwards.`,
      );
    }
    throw new Problem(
      `The backup ${file} was encrypted with a master key that is not in ${source.name}. If it was made before a rotation, ` +
        `add the old key ${source.file === null ? 'after the current one, separated by a comma' : 'on a line of its own after the current one'}.`,
    );
  } finally {
    db.close();
  }
}

/** The file with the key that an earlier rotation saved beside the key file; null if there is none. */
async function findSavedKey(
  source: MasterKeySource,
  open: (candidate: MasterKeySource) => Promise<unknown>,
): Promise<string | null> {
  if (source.file === null) return null;
  for (const file of oldKeyFiles(source.file)) {
    const keys = parseMasterKeys(readFileSync(file, 'utf8'));
    if (keys === undefined) continue;
    try {
      await open({ ...source, read: () => keys });
      return file;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  }
  return null;
}
