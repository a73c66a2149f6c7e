// Who is signed in, and links that sign in once. What decides about either lies in its sealed column, the digest included:
// whoever can write the database but has no key cannot let anybody in.
import type { OneTimeLink, Session, SignInStore } from '../gateway/ports/sign-in.ts';
import type { Database } from './database.ts';
import type { Keyring } from './keyring.ts';
import { createOwnedRows } from './owned-rows.ts';
import type { Tables } from './tables.ts';

type SessionStore = Pick<
  SignInStore,
  | 'createSession'
  | 'findSession'
  | 'listSessions'
  | 'touchSession'
  | 'deleteSession'
  | 'deleteSessions'
  | 'createOneTimeLink'
  | 'findOneTimeLink'
  | 'takeOneTimeLink'
>;

type SealedSession = Pick<Session, 'tokenDigest' | 'method' | 'userAgent' | 'address'>;
type SealedLink = Pick<OneTimeLink, 'tokenDigest' | 'purpose' | 'method' | 'email' | 'expiresAt'>;

export function createSessionStore(database: Database, keyring: Keyring): SessionStore {
  const { build } = database;
  const rows = createOwnedRows(database, keyring);

  const openSession = (row: Tables['sessions']): Promise<Session | null> =>
    rows.open<SealedSession, Session>('sessions', row, (sealed) =>
      sealed.tokenDigest === row.token_digest
        ? {
            id: row.id,
            ownerId: row.owner_id,
            createdAt: row.created_at,
            seenAt: row.seen_at,
            expiresAt: row.expires_at,
            ...sealed,
          }
        : null,
    );

  const openLink = (row: Tables['one_time_links'] | undefined): Promise<OneTimeLink | null> =>
    row === undefined
      ? Promise.resolve(null)
      : rows.open<SealedLink, OneTimeLink>('one_time_links', { ...row, id: row.token_digest }, (sealed) =>
          sealed.expiresAt === row.expires_at ? { ownerId: row.owner_id, createdAt: row.created_at, ...sealed } : null,
        );

  return {
    async createSession({ id, ownerId, tokenDigest, method, userAgent, address, createdAt, seenAt, expiresAt }) {
      const sealed: SealedSession = { tokenDigest, method, userAgent, address };
      await rows.insert('sessions', ownerId, id, sealed, {
        id,
        token_digest: tokenDigest,
        created_at: createdAt,
        seen_at: seenAt,
        expires_at: expiresAt,
      });
    },

    async findSession(tokenDigest, now) {
      const query = build.selectFrom('sessions').selectAll().where('token_digest', '=', tokenDigest);
      const [row] = await database.read(query.where('expires_at', '>', now).compile());
      return row === undefined ? null : openSession(row);
    },

    async listSessions(ownerId, now) {
      const query = build.selectFrom('sessions').selectAll().where('owner_id', '=', ownerId);
      const found = await database.read(
        query.where('expires_at', '>', now).orderBy('seen_at', 'desc').orderBy('id').compile(),
      );
      return rows.readable(found, openSession);
    },

    async touchSession({ ownerId, id }, { seenAt, expiresAt }) {
      await database.write([
        build
          .updateTable('sessions')
          .set({ seen_at: seenAt, expires_at: expiresAt })
          .where('owner_id', '=', ownerId)
          .where('id', '=', id)
          .where('seen_at', '<=', seenAt)
          .compile(),
      ]);
    },

    deleteSession: (ownerId, id) => rows.remove('sessions', ownerId, id),

    async deleteSessions(ownerId, exceptId) {
      const [deleted] = await database.write([
        build.deleteFrom('sessions').where('owner_id', '=', ownerId).where('id', '!=', exceptId).compile(),
        build.deleteFrom('one_time_links').where('owner_id', '=', ownerId).compile(),
      ]);
      return deleted?.changes ?? 0;
    },

    async createOneTimeLink({ tokenDigest, ownerId, purpose, method, email, createdAt, expiresAt }) {
      const sealed: SealedLink = { tokenDigest, purpose, method, email, expiresAt };
      await rows.insert('one_time_links', ownerId, tokenDigest, sealed, {
        token_digest: tokenDigest,
        created_at: createdAt,
        expires_at: expiresAt,
      });
    },

    async findOneTimeLink(tokenDigest, now) {
      const query = build.selectFrom('one_time_links').selectAll().where('token_digest', '=', tokenDigest);
      const [row] = await database.read(query.where('expires_at', '>', now).compile());
      return openLink(row);
    },

    async takeOneTimeLink(tokenDigest, now) {
      const [taken] = await database.write([
        build
          .deleteFrom('one_time_links')
          .where('token_digest', '=', tokenDigest)
          .where('expires_at', '>', now)
          .returningAll()
          .compile(),
      ]);
      return openLink(taken?.rows[0] as Tables['one_time_links'] | undefined);
    },
  };
}
