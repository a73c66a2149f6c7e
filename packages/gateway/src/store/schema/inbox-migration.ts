// Tables of the console: read and deleted marks, sessions and credentials. The table of notifications does not change, so
// accepting a notification costs no more than before.
import { type RawBuilder, type SchemaModule, sql } from 'kysely';

interface Types {
  text: RawBuilder<unknown> | 'text';
  bytes: RawBuilder<unknown>;
  clustered: RawBuilder<unknown>;
}

export function inboxSteps(schema: SchemaModule, { text, bytes, clustered }: Types) {
  return [
    schema.alterTable('devices').addColumn('seen_at', 'bigint'),
    schema
      .createTable('inbox_states')
      .addColumn('owner_id', text, (column) => column.primaryKey())
      .addColumn('read_through', text, (column) => column.notNull())
      .addColumn('generation', 'bigint', (column) => column.notNull())
      .modifyEnd(clustered),
    schema
      .createTable('inbox_marks')
      .addColumn('owner_id', text, (column) => column.notNull())
      .addColumn('notification_id', text, (column) => column.notNull())
      .addColumn('is_read', 'integer')
      .addColumn('deleted_at', 'bigint')
      .addPrimaryKeyConstraint('inbox_marks_pk', ['owner_id', 'notification_id'])
      .modifyEnd(clustered),
    schema
      .createIndex('inbox_marks_deleted')
      .on('inbox_marks')
      .column('deleted_at')
      .where(sql.ref('deleted_at'), 'is not', null),
    schema
      .createIndex('inbox_marks_unread')
      .on('inbox_marks')
      .columns(['owner_id', 'notification_id'])
      .where(sql.ref('is_read'), '=', sql.lit(0)),
    schema
      .createTable('sessions')
      .addColumn('owner_id', text, (column) => column.notNull())
      .addColumn('id', text, (column) => column.notNull())
      .addColumn('token_digest', text, (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('seen_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('sealed', bytes, (column) => column.notNull())
      .addPrimaryKeyConstraint('sessions_pk', ['owner_id', 'id']),
    schema.createIndex('sessions_digest').on('sessions').column('token_digest').unique(),
    schema.createIndex('sessions_expiry').on('sessions').column('expires_at'),
    schema
      .createTable('one_time_links')
      .addColumn('owner_id', text, (column) => column.notNull())
      .addColumn('token_digest', text, (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('sealed', bytes, (column) => column.notNull())
      .addPrimaryKeyConstraint('one_time_links_pk', ['owner_id', 'token_digest']),
    schema.createIndex('one_time_links_digest').on('one_time_links').column('token_digest').unique(),
    schema.createIndex('one_time_links_expiry').on('one_time_links').column('expires_at'),
    schema
      .createTable('passkeys')
      .addColumn('owner_id', text, (column) => column.notNull())
      .addColumn('id', text, (column) => column.notNull())
      .addColumn('credential_digest', text, (column) => column.notNull())
      .addColumn('counter', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('used_at', 'bigint')
      .addColumn('sealed', bytes, (column) => column.notNull())
      .addPrimaryKeyConstraint('passkeys_pk', ['owner_id', 'id']),
    schema.createIndex('passkeys_digest').on('passkeys').column('credential_digest').unique(),
    schema
      .createTable('oidc_identities')
      .addColumn('owner_id', text, (column) => column.notNull())
      .addColumn('id', text, (column) => column.notNull())
      .addColumn('subject_digest', text, (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('sealed', bytes, (column) => column.notNull())
      .addPrimaryKeyConstraint('oidc_identities_pk', ['owner_id', 'id']),
    schema.createIndex('oidc_identities_digest').on('oidc_identities').column('subject_digest').unique(),
  ];
}
