// Whether the master key at hand is the one that a backup was sealed with.
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
    const kept = await findKeptKey(source, (candidate) => MasterKeyring.open(database, candidate, () => undefined));
    if (kept !== null) {
      throw new Problem(
        `The backup ${file} is from before a rotation of the master key. Its key is in ${kept}: add it behind the present ` +
          `one with 'cat ${kept} >> ${source.name}', and run this again; 'tocsin master-key rotate' ends its use afterwards.`,
      );
    }
    throw new Problem(
      `The backup ${file} was sealed with another master key than ${source.name} holds. If it is from before a rotation, ` +
        `put the key of that time ${source.file === null ? 'behind the present one, after a comma' : 'on a line of its own behind the present one'}.`,
    );
  } finally {
    db.close();
  }
}

/** The file beside the key file, written by an earlier rotation, that holds the key; null if none does. */
async function findKeptKey(
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
