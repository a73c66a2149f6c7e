import type { PoolClient } from 'pg';
import type { Tables } from '../schema/tables.ts';

const tables: Record<keyof Tables, true> = {
  meta: true,
  changes: true,
  owners: true,
  data_keys: true,
  api_keys: true,
  hooks: true,
  hook_tokens: true,
  devices: true,
  push_targets: true,
  mqtt_sessions: true,
  mqtt_waiting: true,
  mqtt_receipts: true,
  notifications: true,
  originals: true,
  dispatches: true,
  deliveries: true,
  delivery_lanes: true,
  idempotency: true,
  inbox_states: true,
  inbox_marks: true,
  sessions: true,
  one_time_links: true,
  passkeys: true,
  oidc_identities: true,
  used_signatures: true,
  request_counts: true,
  row_versions: true,
};

/** Missing tables, invalid indexes, and damaged pages that the server has reported. */
export async function verify(client: PoolClient): Promise<string[]> {
  const missing = await client.query<{ name: string }>(
    'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(quote_ident(name)) IS NULL',
    [Object.keys(tables)],
  );
  const broken = await client.query<{ name: string }>(
    `SELECT indexrelid::regclass::text AS name FROM pg_index
     WHERE NOT (indisvalid AND indisready) AND indrelid IN (SELECT to_regclass(quote_ident(t)) FROM unnest($1::text[]) AS t)`,
    [Object.keys(tables)],
  );
  // Counted since the last reset of the statistics; null without data checksums.
  const pages = await client.query<{ count: number | null }>(
    'SELECT checksum_failures AS count FROM pg_stat_database WHERE datname = current_database()',
  );
  const damaged = Number(pages.rows[0]?.count ?? 0);
  return [
    ...missing.rows.map(({ name }) => `the table ${name} is missing`),
    ...broken.rows.map(({ name }) => `the index ${name} is not valid; run REINDEX INDEX ${name}`),
    ...(damaged > 0 ? [`the server found ${damaged} damaged pages; see its log`] : []),
  ];
}
