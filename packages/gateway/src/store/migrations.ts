// The schema, step by step. A step that has been released is never edited; add another below it.
import { type CompiledQuery, type Kysely, sql } from 'kysely';
import type { Migration } from './database.ts';
import type { Tables } from './tables.ts';

export function migrations(build: Kysely<Tables>, dialect: 'sqlite' | 'postgres'): Migration[] {
  const bytes = dialect === 'sqlite' ? sql`blob` : sql`bytea`;
  // SQLite then keeps the row inside the key's own tree: one write instead of two, and an owner's rows side by side.
  const clustered = dialect === 'sqlite' ? sql`without rowid` : sql``;
  const schema = build.schema;
  const compile = (...steps: { compile(): CompiledQuery }[]): CompiledQuery[] => steps.map((step) => step.compile());

  return [
    {
      name: '0001_foundation',
      statements: compile(
        schema
          .createTable('meta')
          .addColumn('name', 'text', (column) => column.primaryKey())
          .addColumn('value', bytes, (column) => column.notNull()),
        schema
          .createTable('changes')
          .addColumn('id', 'integer', (column) => column.primaryKey())
          .addColumn('generation', 'bigint', (column) => column.notNull()),
        build.insertInto('changes').values({ id: 1, generation: 1 }),
        schema
          .createTable('owners')
          .addColumn('id', 'text', (column) => column.primaryKey())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('sealed', bytes, (column) => column.notNull()),
        schema
          .createTable('data_keys')
          .addColumn('owner_id', 'text', (column) => column.notNull())
          .addColumn('version', 'integer', (column) => column.notNull())
          .addColumn('wrapped', bytes, (column) => column.notNull())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addPrimaryKeyConstraint('data_keys_pk', ['owner_id', 'version']),
        schema
          .createTable('api_keys')
          .addColumn('owner_id', 'text', (column) => column.notNull())
          .addColumn('id', 'text', (column) => column.notNull())
          .addColumn('digest', 'text', (column) => column.notNull())
          .addColumn('irregular', 'integer', (column) => column.notNull())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('sealed', bytes, (column) => column.notNull())
          .addPrimaryKeyConstraint('api_keys_pk', ['owner_id', 'id']),
        schema.createIndex('api_keys_digest').on('api_keys').column('digest').unique(),
        schema.createIndex('api_keys_id').on('api_keys').column('id').unique(),
        schema
          .createTable('devices')
          .addColumn('owner_id', 'text', (column) => column.notNull())
          .addColumn('id', 'text', (column) => column.notNull())
          .addColumn('state', 'text', (column) => column.notNull())
          .addColumn('paused', 'integer', (column) => column.notNull())
          .addColumn('secret_digest', 'text', (column) => column.notNull())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('sealed', bytes, (column) => column.notNull())
          .addPrimaryKeyConstraint('devices_pk', ['owner_id', 'id']),
        schema.createIndex('devices_id').on('devices').column('id').unique(),
        schema
          .createTable('notifications')
          .addColumn('owner_id', 'text', (column) => column.notNull())
          .addColumn('id', 'text', (column) => column.notNull())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('sealed', bytes, (column) => column.notNull())
          .addPrimaryKeyConstraint('notifications_pk', ['owner_id', 'id'])
          .modifyEnd(clustered),
        schema
          .createTable('used_signatures')
          .addColumn('owner_id', 'text', (column) => column.notNull())
          .addColumn('signature', 'text', (column) => column.notNull())
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
          .addColumn('owner_id', 'text', (column) => column.notNull())
          .addColumn('id', 'text', (column) => column.notNull())
          .addColumn('provider', 'text', (column) => column.notNull())
          .addColumn('disabled_at', 'bigint')
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('sealed', bytes, (column) => column.notNull())
          .addPrimaryKeyConstraint('push_targets_pk', ['owner_id', 'id']),
        schema.createIndex('push_targets_id').on('push_targets').column('id').unique(),
        schema
          .createTable('mqtt_sessions')
          .addColumn('owner_id', 'text', (column) => column.notNull())
          .addColumn('device_id', 'text', (column) => column.notNull())
          .addColumn('client_id', 'text', (column) => column.notNull())
          .addColumn('subscriptions', 'text', (column) => column.notNull())
          .addColumn('updated_at', 'bigint', (column) => column.notNull())
          .addPrimaryKeyConstraint('mqtt_sessions_pk', ['owner_id', 'device_id', 'client_id']),
        schema
          .createTable('mqtt_waiting')
          .addColumn('owner_id', 'text', (column) => column.notNull())
          .addColumn('device_id', 'text', (column) => column.notNull())
          .addColumn('client_id', 'text', (column) => column.notNull())
          .addColumn('notification_id', 'text', (column) => column.notNull())
          .addColumn('qos', 'integer', (column) => column.notNull())
          .addColumn('message_id', 'integer')
          .addColumn('state', 'text', (column) => column.notNull())
          .addPrimaryKeyConstraint('mqtt_waiting_pk', ['owner_id', 'device_id', 'client_id', 'notification_id'])
          .modifyEnd(clustered),
      ),
    },
  ];
}
