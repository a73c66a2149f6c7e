// The schema as a list of migrations. A released migration is never edited; append another one.
import { type CompiledQuery, type CreateIndexBuilder, type Kysely, sql } from 'kysely';
import type { Migration } from './database.ts';
import { inboxSteps } from './inbox-migration.ts';
import { markLegacyInstallation } from './legacy-installation.ts';
import type { Tables } from './tables.ts';

export function migrations(build: Kysely<Tables>, dialect: 'sqlite' | 'postgres'): Migration[] {
  const isPostgres = dialect === 'postgres';
  const bytes = isPostgres ? sql`bytea` : sql`blob`;
  // Ordered by bytes, as in SQLite: no index depends on a collation that changes with the libraries of the system.
  const text = isPostgres ? sql`text collate "C"` : 'text';
  // Clustered: SQLite stores the rows in the tree of the primary key, with one write instead of two.
  const clustered = isPostgres ? sql`` : sql`without rowid`;
  const schema = build.schema;
  // A distributed database enforces uniqueness only together with the sharding column. Ids are random.
  const uniqueOnOneMachine = (index: CreateIndexBuilder<'id'>): CreateIndexBuilder<'id'> =>
    isPostgres ? index : index.unique();
  const compile = (...steps: { compile(): CompiledQuery }[]): CompiledQuery[] => steps.map((step) => step.compile());

  return [
    {
      name: '0001_foundation',
      statements: compile(
        schema
          .createTable('meta')
          .addColumn('name', text, (column) => column.primaryKey())
          .addColumn('value', bytes, (column) => column.notNull()),
        schema
          .createTable('changes')
          .addColumn('id', 'integer', (column) => column.primaryKey())
          .addColumn('generation', 'bigint', (column) => column.notNull()),
        build.insertInto('changes').values({ id: 1, generation: 1 }),
        ...(isPostgres ? notifyChanges(build) : []),
        schema
          .createTable('owners')
          .addColumn('id', text, (column) => column.primaryKey())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('sealed', bytes, (column) => column.notNull()),
        schema
          .createTable('data_keys')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('version', 'integer', (column) => column.notNull())
          .addColumn('wrapped', bytes, (column) => column.notNull())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addPrimaryKeyConstraint('data_keys_pk', ['owner_id', 'version']),
        schema
          .createTable('api_keys')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('id', text, (column) => column.notNull())
          .addColumn('digest', text, (column) => column.notNull())
          .addColumn('irregular', 'integer', (column) => column.notNull())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('sealed', bytes, (column) => column.notNull())
          .addPrimaryKeyConstraint('api_keys_pk', ['owner_id', 'id']),
        schema.createIndex('api_keys_digest').on('api_keys').column('digest').unique(),
        schema.createIndex('api_keys_id').on('api_keys').column('id').unique(),
        schema
          .createTable('devices')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('id', text, (column) => column.notNull())
          .addColumn('state', text, (column) => column.notNull())
          .addColumn('paused', 'integer', (column) => column.notNull())
          .addColumn('secret_digest', text, (column) => column.notNull())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('sealed', bytes, (column) => column.notNull())
          .addPrimaryKeyConstraint('devices_pk', ['owner_id', 'id']),
        uniqueOnOneMachine(schema.createIndex('devices_id').on('devices').column('id')),
        schema
          .createTable('notifications')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('id', text, (column) => column.notNull())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('sealed', bytes, (column) => column.notNull())
          .addPrimaryKeyConstraint('notifications_pk', ['owner_id', 'id'])
          .modifyEnd(clustered),
        schema
          .createTable('used_signatures')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('signature', text, (column) => column.notNull())
          .addColumn('expires_at', 'bigint', (column) => column.notNull())
          .addPrimaryKeyConstraint('used_signatures_pk', ['owner_id', 'signature'])
          .modifyEnd(clustered),
        schema.createIndex('used_signatures_expiry').on('used_signatures').column('expires_at'),
      ),
    },
    {
      name: '0002_channels',
      statements: compile(
        schema
          .createTable('push_targets')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('id', text, (column) => column.notNull())
          .addColumn('provider', text, (column) => column.notNull())
          .addColumn('disabled_at', 'bigint')
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('sealed', bytes, (column) => column.notNull())
          .addPrimaryKeyConstraint('push_targets_pk', ['owner_id', 'id']),
        uniqueOnOneMachine(schema.createIndex('push_targets_id').on('push_targets').column('id')),
        schema
          .createTable('mqtt_sessions')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('device_id', text, (column) => column.notNull())
          .addColumn('client_id', text, (column) => column.notNull())
          .addColumn('subscriptions', text, (column) => column.notNull())
          .addColumn('updated_at', 'bigint', (column) => column.notNull())
          .addPrimaryKeyConstraint('mqtt_sessions_pk', ['owner_id', 'device_id', 'client_id']),
        schema
          .createTable('mqtt_waiting')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('device_id', text, (column) => column.notNull())
          .addColumn('client_id', text, (column) => column.notNull())
          .addColumn('notification_id', text, (column) => column.notNull())
          .addColumn('qos', 'integer', (column) => column.notNull())
          .addColumn('message_id', 'integer')
          .addColumn('state', text, (column) => column.notNull())
          .addPrimaryKeyConstraint('mqtt_waiting_pk', ['owner_id', 'device_id', 'client_id', 'notification_id'])
          .modifyEnd(clustered),
      ),
    },
    {
      name: '0003_redelivery',
      statements: compile(
        schema
          .createTable('dispatches')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('notification_id', text, (column) => column.notNull())
          .addColumn('targets', text, (column) => column.notNull())
          .addColumn('results', text)
          .addColumn('lease_until', 'bigint')
          .addPrimaryKeyConstraint('dispatches_pk', ['owner_id', 'notification_id'])
          .modifyEnd(clustered),
        schema
          .createIndex('dispatches_unsettled')
          .on('dispatches')
          .column('lease_until')
          .where(sql.ref('lease_until'), 'is not', null),
        schema
          .createTable('deliveries')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('notification_id', text, (column) => column.notNull())
          .addColumn('channel', text, (column) => column.notNull())
          .addColumn('target', text, (column) => column.notNull())
          .addColumn('state', text, (column) => column.notNull())
          .addColumn('attempts', 'integer', (column) => column.notNull())
          .addColumn('qos', 'integer', (column) => column.notNull())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('next_at', 'bigint')
          .addColumn('not_before', 'bigint', (column) => column.notNull())
          .addColumn('expires_at', 'bigint', (column) => column.notNull())
          .addColumn('ended_at', 'bigint')
          .addColumn('sealed', bytes, (column) => column.notNull())
          .addPrimaryKeyConstraint('deliveries_pk', ['owner_id', 'notification_id', 'channel', 'target'])
          .modifyEnd(clustered),
        schema
          .createIndex('deliveries_waiting')
          .on('deliveries')
          .columns(['owner_id', 'channel', 'target', 'notification_id'])
          .where(sql.ref('next_at'), 'is not', null),
        schema
          .createIndex('deliveries_dead')
          .on('deliveries')
          .columns(['owner_id', 'notification_id'])
          .where(sql.ref('state'), '=', sql.lit('dead')),
        schema
          .createTable('delivery_lanes')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('channel', text, (column) => column.notNull())
          .addColumn('target', text, (column) => column.notNull())
          .addColumn('next_at', 'bigint', (column) => column.notNull())
          .addColumn('version', 'bigint', (column) => column.notNull())
          .addColumn('lease_until', 'bigint', (column) => column.notNull())
          .addPrimaryKeyConstraint('delivery_lanes_pk', ['owner_id', 'channel', 'target'])
          .modifyEnd(clustered),
        schema.createIndex('delivery_lanes_due').on('delivery_lanes').column('next_at'),
        schema
          .createTable('idempotency')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('key_digest', text, (column) => column.notNull())
          .addColumn('fingerprint', text, (column) => column.notNull())
          .addColumn('notification_id', text, (column) => column.notNull())
          .addColumn('lease_until', 'bigint', (column) => column.notNull())
          .addColumn('expires_at', 'bigint', (column) => column.notNull())
          .addColumn('sealed', bytes)
          .addPrimaryKeyConstraint('idempotency_pk', ['owner_id', 'key_digest'])
          .modifyEnd(clustered),
        schema.createIndex('idempotency_expiry').on('idempotency').column('expires_at'),
      ),
    },
    {
      name: '0004_limits',
      statements: compile(
        schema
          .createTable('request_counts')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('key_id', text, (column) => column.notNull())
          .addColumn('window_ms', 'bigint', (column) => column.notNull())
          .addColumn('used', 'bigint', (column) => column.notNull())
          .addColumn('resets_at', 'bigint', (column) => column.notNull())
          .addPrimaryKeyConstraint('request_counts_pk', ['owner_id', 'key_id', 'window_ms'])
          .modifyEnd(clustered),
      ),
    },
    {
      name: '0005_irregular_keys',
      statements: compile(
        // For a query that runs several times a second.
        schema
          .createIndex('api_keys_irregular')
          .on('api_keys')
          .column('owner_id')
          .where(sql.ref('irregular'), '=', sql.lit(1)),
      ),
    },
    {
      name: '0006_inbox',
      statements: compile(...inboxSteps(schema, { text, bytes, clustered })),
    },
    {
      name: '0007_legacy_installation',
      statements: [markLegacyInstallation(build, isPostgres)],
    },
    {
      name: '0008_undo_read_all',
      statements: compile(
        schema.alterTable('inbox_states').addColumn('undo_read_through', text),
        schema.alterTable('inbox_states').addColumn('undo_through', text),
        schema.alterTable('inbox_marks').addColumn('undo_is_read', 'integer'),
      ),
    },
    {
      name: '0009_mqtt_receipts',
      statements: compile(
        schema
          .createTable('mqtt_receipts')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('notification_id', text, (column) => column.notNull())
          .addColumn('device_id', text, (column) => column.notNull())
          .addColumn('delivered_at', 'bigint', (column) => column.notNull())
          .addColumn('qos', 'integer', (column) => column.notNull())
          .addPrimaryKeyConstraint('mqtt_receipts_pk', ['owner_id', 'notification_id', 'device_id'])
          .modifyEnd(clustered),
      ),
    },
    {
      name: '0010_row_versions',
      statements: compile(
        schema
          .createTable('row_versions')
          .addColumn('id', text, (column) => column.primaryKey())
          .addColumn('sealed', bytes, (column) => column.notNull()),
      ),
    },
    {
      name: '0011_closing_lanes',
      statements: compile(
        schema
          .alterTable('delivery_lanes')
          .addColumn('closing', 'integer', (column) => column.notNull().defaultTo(sql.lit(0))),
      ),
    },
    {
      name: '0012_hooks',
      statements: compile(
        schema
          .createTable('hooks')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('id', text, (column) => column.notNull())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('sealed', bytes, (column) => column.notNull())
          .addPrimaryKeyConstraint('hooks_pk', ['owner_id', 'id']),
        uniqueOnOneMachine(schema.createIndex('hooks_id').on('hooks').column('id')),
        schema
          .createTable('hook_tokens')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('digest', text, (column) => column.notNull())
          .addColumn('hook_id', text, (column) => column.notNull())
          .addPrimaryKeyConstraint('hook_tokens_pk', ['owner_id', 'digest']),
        schema.createIndex('hook_tokens_digest').on('hook_tokens').column('digest'),
        schema
          .createTable('originals')
          .addColumn('owner_id', text, (column) => column.notNull())
          .addColumn('notification_id', text, (column) => column.notNull())
          .addColumn('sealed', bytes, (column) => column.notNull())
          .addPrimaryKeyConstraint('originals_pk', ['owner_id', 'notification_id']),
      ),
    },
  ];
}

/** Notifies listeners (`postgres/change-listener.ts`) when a new generation is committed. */
function notifyChanges(build: Kysely<Tables>): { compile(): CompiledQuery }[] {
  const steps = [
    sql`create function tocsin_tell_of_changes() returns trigger language plpgsql as $$
      begin perform pg_notify('tocsin_changes', ''); return null; end $$`,
    sql`create trigger changes_told after update on changes for each row
      when (old.generation is distinct from new.generation) execute function tocsin_tell_of_changes()`,
  ];
  return steps.map((step) => ({ compile: () => step.compile(build) }));
}
