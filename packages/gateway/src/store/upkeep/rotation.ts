// Replaces the master key while everything runs. Only what the master key seals is touched: data keys, API keys, secrets.
//
// The new key is where every process can find it before anything is sealed with it, and the old one is retired in a
// transaction that finds nothing left under it; `MasterKeyring.write` keeps anything from being sealed with it later. Cut
// off at any point, all values open and the next rotation goes on from there.
import type { KeyObject } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import { describeFileError } from '../../core/file-error.ts';
import { formatMasterKeys } from '../../core/master-key-format.ts';
import { Problem } from '../../core/problem.ts';
import {
  DecryptionFailed,
  type MasterKeyRepository,
  type MasterKeyStatus,
  type RotationOptions,
  type RotationReport,
  StoreUnavailable,
} from '../../usecases/ports/index.ts';
import { lockFile } from '../files/file-lock.ts';
import type { Database, EncryptionKey } from '../schema/database.ts';
import { bumpGeneration } from '../schema/generation.ts';
import { cipherOverhead, encrypt } from '../vault/cipher.ts';
import { lockOf, makeMasterKey, writeKeyFile } from '../vault/master-key.ts';
import { isProof, type MasterKeyring, proofName } from '../vault/master-keyring.ts';
import { saveOldKeysBeside, saveOldKeysTo } from '../vault/old-keys.ts';
import { isRetired, rememberRetired } from '../vault/retired-keys.ts';
import { encryptedColumns as allEncryptedColumns, type EncryptedColumn, type KeyValue } from './encrypted-columns.ts';

/** Resealed per transaction, so that no request waits for long. */
const batchSize = 200;

const encryptedColumns = allEncryptedColumns.filter(({ encryptedWith }) => encryptedWith === 'master key');

export function createMasterKeyRepository(database: Database, master: MasterKeyring): MasterKeyRepository {
  return {
    status: () => readStatus(database, master),
    rotate: async (options = {}) => {
      const { file } = master.source;
      // Files of other machines cannot be written from here, so where the database is shared the operator does it.
      const lock = file === null || database.dialect !== 'sqlite' ? null : lockFile(lockOf(file));
      if (lock === 'taken') {
        throw new Problem(
          `Another rotation is under way. Wait for it to end; 'tocsin master-key status' shows how far it is.`,
        );
      }
      try {
        return await rotate(database, master, lock === null ? null : file, options);
      } finally {
        lock?.release();
      }
    },
  };
}

/** `file`: where the keys are, if it is for us to write. */
async function rotate(
  database: Database,
  master: MasterKeyring,
  file: string | null,
  options: RotationOptions,
): Promise<RotationReport> {
  const { onProgress = () => undefined } = options;
  await master.refresh();
  const key = await chooseKey(database, master, file);
  // Before the file is touched: from here on, whatever is cut off, no key is lost.
  const oldKeyFile = saveOldKeys(master, key.key, file, options);
  // Otherwise what is left is to drop the old key.
  if (master.versions.length > 1 || master.versionOf(key.key) === undefined) {
    await activateKey(database, master, file, key, onProgress);
  }
  const retired = master.versions.filter((version) => version !== key.version);
  const damaged: string[] = [];
  let resealed = 0;
  while (master.versions.length > 1) {
    damaged.length = 0;
    for (const column of encryptedColumns) {
      for await (const batch of reseal(database, master, column, key)) {
        resealed += batch.resealed;
        damaged.push(...batch.damaged);
        onProgress({ step: 'resealing', resealed });
      }
    }
    await retire(database, master, key, damaged.length);
  }
  onProgress({ step: 'old_key_retired' });
  const todo = [...dropOldKeys(master, file, key.key), ...(await wipe(database))];
  return { version: key.version, retired, resealed, oldKeyFile, damaged, todo };
}

/** The one that a rotation was cut off with, else the one that the operator put in front, else a new one. */
async function chooseKey(database: Database, master: MasterKeyring, file: string | null): Promise<EncryptionKey> {
  const { source, versions } = master;
  const [newest = 1] = versions;
  if (versions.length > 1) return master.key(newest);
  const keys = source.read();
  const [first] = keys;
  if (first !== undefined && master.versionOf(first) === undefined) {
    await refuseRetired(database, master, first);
    return { version: newest + 1, key: first };
  }
  // Cut off at the very end, or done before: what is left is to drop the old key.
  if (keys.length > 1) return master.key(newest);
  if (file === null) throw new Problem(howToGiveKeys(master));
  return { version: newest + 1, key: makeMasterKey() };
}

/** Going back to it would make those who have it, from before, able to open everything again. */
async function refuseRetired(database: Database, { source }: MasterKeyring, key: KeyObject): Promise<void> {
  if (!(await isRetired(database, key))) return;
  throw new Problem(
    `The first key in ${source.name} was replaced by a rotation before, and is not taken again: the keys stand in the ` +
      'wrong order, or the old one was left in. Put the newest key first. Nothing was changed.',
  );
}

async function activateKey(
  database: Database,
  master: MasterKeyring,
  file: string | null,
  key: EncryptionKey,
  onProgress: NonNullable<RotationOptions['onProgress']>,
): Promise<void> {
  const keys = master.source.read();
  if (file !== null && !keys.some((each) => each.equals(key.key))) {
    try {
      writeKeyFile(file, [key.key, ...keys]);
    } catch (error) {
      throw new Problem(`${file} cannot be written: ${describeFileError(error)}. ${howToGiveKeys(master)}`);
    }
  }
  onProgress({ step: 'key_ready' });
  await database.write([master.prove(key), bumpGeneration(database)]);
  await master.refresh();
  if (master.versionOf(key.key) !== key.version) {
    throw new Problem('Another rotation, with another new key, has just begun. Give every process the same keys.');
  }
  onProgress({ step: 'key_in_use' });
}

function howToGiveKeys({ source: { file, name } }: MasterKeyring): string {
  const where =
    file === null
      ? `set TOCSIN_MASTER_KEY="new,old" for every server, restart them one after the other`
      : `put it in front of the present one, on a line of its own, in ${name} and wherever else servers read theirs`;
  const end = file === null ? 'restart with the new key alone' : 'take the old key out again';
  return (
    `The new key has to be given to every server first: make one with 'openssl rand -base64 32', ${where}, and run this ` +
    `again with the same keys; afterwards ${end}. Nothing was changed.`
  );
}

/** Batch by batch: what is sealed with another key than this one, sealed with this one. */
async function* reseal(
  database: Database,
  master: MasterKeyring,
  column: EncryptedColumn,
  key: EncryptionKey,
): AsyncGenerator<{ resealed: number; damaged: string[] }> {
  for (let after: readonly KeyValue[] | null = null; ; ) {
    const rows: Record<string, unknown>[] = await database.read(selectOld(database, column, key.version, after));
    const updates: CompiledQuery[] = [];
    const damaged: string[] = [];
    for (const row of rows) {
      const id = column.key.map((name) => row[name] as KeyValue);
      const context = column.contextOf(id);
      try {
        const old = row.value as Uint8Array;
        updates.push(replace(database, column, id, old, encrypt(key, context, await master.decrypt(context, old))));
      } catch (error) {
        if (!(error instanceof DecryptionFailed)) throw error;
        damaged.push(`${column.table} ${id.join('/')}`);
      }
      after = id;
    }
    const startedAt = performance.now();
    const results = updates.length === 0 ? [] : await database.write(updates);
    // One that was changed meanwhile is left as it is; the next round finds it.
    yield { resealed: results.reduce((sum, { changes }) => sum + changes, 0), damaged };
    if (rows.length < batchSize) return;
    // Half of the time belongs to the requests.
    await delay(performance.now() - startedAt);
  }
}

function selectOld(
  { build }: Database,
  column: EncryptedColumn,
  version: number,
  after: readonly KeyValue[] | null,
): CompiledQuery<Record<string, unknown>> {
  const key = sql.join(column.key.map((name) => sql.ref(name)));
  const rest = after === null ? sql`` : sql`and (${key}) > (${sql.join([...after])})`;
  return sql<Record<string, unknown>>`select ${key}, ${sql.ref(column.column)} as value from ${sql.table(column.table)}
    where ${isEncryptedWithOther(column, version)} ${rest} order by ${key} limit ${batchSize}`.compile(build);
}

function replace(
  { build }: Database,
  { table, column, key }: EncryptedColumn,
  id: readonly KeyValue[],
  old: Uint8Array,
  value: Uint8Array,
): CompiledQuery {
  const isRow = sql.join(
    key.map((name, index) => sql`${sql.ref(name)} = ${id[index]}`),
    sql` and `,
  );
  // Only if it is as it was read: a revocation in between stands.
  return sql`update ${sql.table(table)} set ${sql.ref(column)} = ${value}
    where ${isRow} and ${sql.ref(column)} = ${old}`.compile(build);
}

/** Ends the old keys, if nothing but damaged values is left under them. The generation goes first: writers wait for it. */
async function retire(
  database: Database,
  master: MasterKeyring,
  { version }: EncryptionKey,
  damaged: number,
): Promise<void> {
  const { build } = database;
  const old = master.versions.filter((each) => each !== version);
  const left = sql.join(
    encryptedColumns.map(
      (column) => sql`(select count(*) from ${sql.table(column.table)} where ${isEncryptedWithOther(column, version)})`,
    ),
    sql` + `,
  );
  await database.write([
    bumpGeneration(database),
    sql`delete from meta where ${isProof} and name <> ${proofName(version)} and ${left} = ${sql.lit(damaged)}`.compile(
      build,
    ),
    ...old.map((each) => rememberRetired(database, master.key(each), proofName(each))),
  ]);
  await master.refresh();
}

function isEncryptedWithOther(column: EncryptedColumn, version: number): RawBuilder<boolean> {
  const value = sql.ref(column.column);
  const isSecret = column.table === 'meta' ? sql`not ${isProof} and` : sql``;
  return sql<boolean>`${isSecret} substr(${value}, 1, 1) = ${Buffer.from([1])} and length(${value}) >= ${sql.lit(cipherOverhead)}
    and substr(${value}, 2, 2) <> ${versionBytes(version)}`;
}

function versionBytes(version: number): Buffer {
  return Buffer.from([version >> 8, version & 0xff]);
}

function dropOldKeys({ source }: MasterKeyring, file: string | null, key: KeyObject): string[] {
  if (source.read().length === 1) return [];
  const byHand = `Take all keys but the first out of ${source.name}${source.file === null ? ', and restart' : ''}: they are not in use any more.`;
  if (file === null) return [byHand];
  try {
    writeKeyFile(file, [key]);
    return [];
  } catch {
    return [byHand];
  }
}

/** Values under the old key must not be found in what the database has thrown away. */
async function wipe(database: Database): Promise<string[]> {
  try {
    await database.wipe?.();
    return [];
  } catch (error) {
    if (error instanceof StoreUnavailable) return [`${error.message}.`];
    throw error;
  }
}

/** Keeps all keys but the one that stays; says where, or null if there is none, or the operator keeps them. */
function saveOldKeys(
  { source }: MasterKeyring,
  key: KeyObject,
  file: string | null,
  { oldKeyFile, discardOldKey = false }: RotationOptions,
): string | null {
  const old = source.read().filter((each) => !each.equals(key));
  if (old.length === 0 || discardOldKey) return null;
  const text = formatMasterKeys(old);
  if (oldKeyFile === undefined) return file === null ? null : saveOldKeysBeside(file, text, Date.now());
  saveOldKeysTo(oldKeyFile, text, source.file);
  return oldKeyFile;
}

async function readStatus(database: Database, master: MasterKeyring): Promise<MasterKeyStatus> {
  await master.refresh();
  const { build } = database;
  const counts = new Map<number, number>();
  for (const column of encryptedColumns) {
    const version = sql`substr(${sql.ref(column.column)}, 2, 2)`;
    const rows = await database.read(
      sql<{ version: Uint8Array; values: number }>`select ${version} as version, count(*) as "values"
        from ${sql.table(column.table)} where ${isEncryptedWithOther(column, 0)} group by ${version}`.compile(build),
    );
    for (const row of rows) {
      const number = Buffer.from(row.version).readUInt16BE();
      counts.set(number, (counts.get(number) ?? 0) + Number(row.values));
    }
  }
  const keys = master.source.read();
  const [first] = keys;
  const isFirstNew = first !== undefined && master.versionOf(first) === undefined;
  return {
    source: master.source.name,
    versions: master.versions.map((version) => ({ version, values: counts.get(version) ?? 0 })),
    spareKeys: keys.filter((key) => master.versionOf(key) === undefined).length,
    nextKeyGiven: isFirstNew && !(await isRetired(database, first)),
  };
}
