// Rotates the master key while servers are running. Only values that are encrypted with the master key change: data keys,
// API keys, row versions and secrets.
//
// The new key is available to every process before anything is encrypted with it. The old key is retired in a transaction
// that checks that no value is left under it; `MasterKeyring.write` prevents later writes with it. If a rotation is
// interrupted at any point, all values can be decrypted, and the next rotation resumes it.
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

/** Values re-encrypted per transaction; small, so that requests are not delayed. */
const batchSize = 200;

const encryptedColumns = allEncryptedColumns.filter(({ encryptedWith }) => encryptedWith === 'master key');

export function createMasterKeyRepository(database: Database, master: MasterKeyring): MasterKeyRepository {
  return {
    status: () => readStatus(database, master),
    rotate: async (options = {}) => {
      const { file } = master.source;
      // With a shared database the operator distributes the key, since key files of other machines cannot be written here.
      const lock = file === null || database.dialect !== 'sqlite' ? null : lockFile(lockOf(file));
      if (lock === 'taken') {
        throw new Problem(
          `Another rotation is running. Wait until it has ended; 'tocsin master-key status' shows its progress.`,
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

/** `file`: the key file, if this process writes it. */
async function rotate(
  database: Database,
  master: MasterKeyring,
  file: string | null,
  options: RotationOptions,
): Promise<RotationReport> {
  const { onProgress = () => undefined } = options;
  await master.refresh();
  const key = await chooseKey(database, master, file);
  // Before the key file is changed, so that no interruption loses a key.
  const oldKeyFile = saveOldKeys(master, key.key, file, options);
  // Otherwise only the removal of the old key is left.
  if (master.versions.length > 1 || master.versionOf(key.key) === undefined) {
    await activateKey(database, master, file, key, onProgress);
  }
  const retired = master.versions.filter((version) => version !== key.version);
  const damaged: string[] = [];
  let resealed = 0;
  while (master.versions.length > 1) {
    damaged.length = 0;
    for (const column of encryptedColumns) {
      for await (const batch of reencrypt(database, master, column, key)) {
        resealed += batch.resealed;
        damaged.push(...batch.damaged);
        onProgress({ step: 'resealing', resealed });
      }
    }
    await retire(database, master, key, damaged.length);
  }
  onProgress({ step: 'old_key_retired' });
  const todo = [...dropOldKeys(master, file, key.key), ...(await truncateLog(database))];
  return { version: key.version, retired, resealed, oldKeyFile, damaged, todo };
}

/** The key of an interrupted rotation, else a new first key from the operator, else a generated one. */
async function chooseKey(database: Database, master: MasterKeyring, file: string | null): Promise<EncryptionKey> {
  const { source, versions } = master;
  const [newest = 1] = versions;
  if (versions.length > 1) return master.key(newest);
  const keys = source.read();
  const [first] = keys;
  if (first !== undefined && master.versionOf(first) === undefined) {
    await assertNotRetired(database, master, first);
    return { version: newest + 1, key: first };
  }
  // The rotation was interrupted at its end: only the removal of the old key is left.
  if (keys.length > 1) return master.key(newest);
  if (file === null) throw new Problem(howToConfigureKeys(master));
  return { version: newest + 1, key: makeMasterKey() };
}

/** Activating a retired key would make everything readable again for those who still have it. */
async function assertNotRetired(database: Database, { source }: MasterKeyring, key: KeyObject): Promise<void> {
  if (!(await isRetired(database, key))) return;
  throw new Problem(
    `The first key in ${source.name} has been retired by a rotation: the keys are in the wrong order, or the old key was ` +
      'not removed. Put the newest key first. Nothing was changed.',
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
      throw new Problem(`${file} cannot be written: ${describeFileError(error)}. ${howToConfigureKeys(master)}`);
    }
  }
  onProgress({ step: 'key_ready' });
  await database.write([master.prove(key), bumpGeneration(database)]);
  await master.refresh();
  if (master.versionOf(key.key) !== key.version) {
    throw new Problem(
      'Another rotation with a different new key has started. Configure the same keys for every process.',
    );
  }
  onProgress({ step: 'key_in_use' });
}

function howToConfigureKeys({ source: { file, name } }: MasterKeyring): string {
  const where =
    file === null
      ? `set TOCSIN_MASTER_KEY="new,old" for every server, restart them one after the other`
      : `add it on a line of its own in front of the current one in ${name} and in the key files of all other servers`;
  const end = file === null ? 'restart with the new key only' : 'remove the old key';
  return (
    `Every server needs the new key first: generate one with 'openssl rand -base64 32', ${where}, and run this ` +
    `again with the same keys; afterwards ${end}. Nothing was changed.`
  );
}

/** Re-encrypts values that are encrypted with another key, in batches. */
async function* reencrypt(
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
    // A value that was changed meanwhile is not overwritten; the next round finds it.
    yield { resealed: results.reduce((sum, { changes }) => sum + changes, 0), damaged };
    if (rows.length < batchSize) return;
    // Leaves half of the time to requests.
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
  // Only if the value has not changed since it was read, so that a concurrent revocation is kept.
  return sql`update ${sql.table(table)} set ${sql.ref(column)} = ${value}
    where ${isRow} and ${sql.ref(column)} = ${old}`.compile(build);
}

/** Retires the old keys if only damaged values are left under them. Changes the generation first, which writers wait for. */
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
  const byHand = `Remove all keys except the first from ${source.name}${source.file === null ? ', and restart' : ''}: they are retired.`;
  if (file === null) return [byHand];
  try {
    writeKeyFile(file, [key]);
    return [];
  } catch {
    return [byHand];
  }
}

/** Removes values encrypted with the old key from the write-ahead log too. */
async function truncateLog(database: Database): Promise<string[]> {
  try {
    await database.truncateLog?.();
    return [];
  } catch (error) {
    if (error instanceof StoreUnavailable) return [`${error.message}.`];
    throw error;
  }
}

/** Saves the old keys; returns the file, or null if there are none or the operator keeps them. */
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
