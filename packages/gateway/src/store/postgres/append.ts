// The fast path: inserts a batch of notifications, with their dispatches, idempotency keys and messages for queues of the
// embedded broker, in one statement.
import type { PoolClient } from 'pg';
import type { PlainNotification } from '../schema/database.ts';
import { encrypt } from '../vault/cipher.ts';
import type { Result, RowToAppend } from './append-queue.ts';
import { appendParameters, appendSql, type Parts } from './append-sql.ts';

export async function appendRows(client: PoolClient, all: readonly RowToAppend[]): Promise<Result[]> {
  // A statement cannot claim a key twice; the second request with a key in a batch is a duplicate.
  const batch: RowToAppend[] = [];
  const places = new Map<string, number>();
  const numbers = all.map((each) => {
    const name = idempotencyName(each.row);
    const known = name === null ? undefined : places.get(name);
    if (known !== undefined) return { number: known, isFirst: false };
    const number = batch.push(each);
    if (name !== null) places.set(name, number);
    return { number, isFirst: true };
  });
  const results = await append(client, batch);
  return numbers.map(({ number, isFirst }) => {
    const result = results.get(number);
    if (isFirst) return result ?? 'appended';
    return result === 'orphan' ? result : 'duplicate';
  });
}

/** Returns the results other than `appended`, by the number of the row, counted from 1. */
async function append(client: PoolClient, batch: readonly RowToAppend[]): Promise<Map<number, Result>> {
  const rows = batch.map(({ row, key }) => {
    const { ownerId, id: rowId, content, original } = row;
    const seal = (table: string, text: string): Buffer =>
      encrypt(key, { table, ownerId, rowId, column: 'sealed' }, text);
    const sealedOriginal = original === null ? null : seal('originals', original);
    return { ...row, sealed: seal('notifications', content), sealedOriginal };
  });
  const parts: Parts = {
    hasDispatches: rows.some(({ dispatch }) => dispatch !== null),
    hasIdempotencyKeys: rows.some(({ idempotency }) => idempotency !== null),
    hasMessages: rows.some(({ messages }) => messages.length > 0),
    hasOriginals: rows.some(({ original }) => original !== null),
  };
  const { rows: exceptions } = await client.query<{ number: number; hasOwner: boolean; message: number | null }>({
    ...statementOf(parts),
    values: appendParameters(parts, rows),
  });
  const results = new Map<number, Result>();
  for (const { number, hasOwner, message } of exceptions) {
    if (message === null) results.set(number, hasOwner ? 'duplicate' : 'orphan');
    else results.set(number, { notQueued: [...notQueuedOf(results.get(number)), message].sort((a, b) => a - b) });
  }
  return results;
}

const statements = new Map<string, { name: string; text: string }>();

/** Prepared once per connection, under a name for each combination of parts. */
function statementOf(parts: Parts): { name: string; text: string } {
  const name = ['append', ...Object.entries(parts).flatMap(([part, isThere]) => (isThere ? [part] : []))].join('_');
  const known = statements.get(name) ?? { name, text: appendSql(parts) };
  statements.set(name, known);
  return known;
}

function notQueuedOf(result: Result | undefined): readonly number[] {
  return typeof result === 'object' ? result.notQueued : [];
}

function idempotencyName({ ownerId, idempotency }: PlainNotification): string | null {
  return idempotency === null ? null : `${ownerId}\n${idempotency.keyDigest}`;
}
