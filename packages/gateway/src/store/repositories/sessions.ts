// Who is signed in, and links that sign in once. What decides about either is encrypted, the digest included: who can write
// the database but has no key cannot let anybody in, nor with an earlier state of a row (`row-versions.ts`).
import { sql } from 'kysely';
import type { OneTimeLink, Session, SignInStore } from '../../usecases/ports/sign-in.ts';
import type { Database } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import type { Keyring } from '../vault/keyring.ts';
import { childName, type RowVersions } from '../vault/row-versions.ts';
import { createOwnedRows } from './owned-rows.ts';

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

export function createSessionStore(database: Database, keyring: Keyring, versions: RowVersions): SessionStore {
  const { build } = database;
  const rows = createOwnedRows(database, keyring, versions);

  const toSession = (row: Tables['sessions'], sealed: SealedSession): Session | null =>
    sealed.tokenDigest === row.token_digest
      ? {
          id: row.id,
          ownerId: row.owner_id,
          createdAt: row.created_at,
          seenAt: row.seen_at,
          expiresAt: row.expires_at,
          ...sealed,
        }
      : null;

  const toLink = (row: Tables['one_time_links'], sealed: SealedLink): OneTimeLink | null =>
    sealed.expiresAt === row.expires_at ? { ownerId: row.owner_id, createdAt: row.created_at, ...sealed } : null;

  const findLink = (tokenDigest: string, now: number): Promise<OneTimeLink | null> =>
    rows.find('one_time_links', sql`token_digest = ${tokenDigest} and expires_at > ${now}`, toLink);

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

    findSession: (tokenDigest, now) =>
      rows.find('sessions', sql`token_digest = ${tokenDigest} and expires_at > ${now}`, toSession),

    listSessions: (ownerId, now) =>
      rows.list('sessions', sql`owner_id = ${ownerId} and expires_at > ${now} order by seen_at desc, id`, toSession),

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
      const queries = [
        build.deleteFrom('sessions').where('owner_id', '=', ownerId).where('id', '!=', exceptId).compile(),
        build.deleteFrom('one_time_links').where('owner_id', '=', ownerId).compile(),
      ];
      const kept = childName('sessions', exceptId);
      const results = await versions.write(ownerId, async (_version, children) => {
        const ended = Object.keys(children).filter(
          (name) => /^(sessions|one_time_links)\//.test(name) && name !== kept,
        );
        return { children: Object.fromEntries(ended.map((name) => [name, null])), rows: () => ({ queries }) };
      });
      return results?.[0]?.changes ?? 0;
    },

    async createOneTimeLink({ tokenDigest, ownerId, purpose, method, email, createdAt, expiresAt }) {
      const sealed: SealedLink = { tokenDigest, purpose, method, email, expiresAt };
      await rows.insert('one_time_links', ownerId, tokenDigest, sealed, {
        token_digest: tokenDigest,
        created_at: createdAt,
        expires_at: expiresAt,
      });
    },

    findOneTimeLink: findLink,

    async takeOneTimeLink(tokenDigest, now) {
      const found = await findLink(tokenDigest, now);
      if (found === null) return null;
      const query = build.deleteFrom('one_time_links').where('token_digest', '=', tokenDigest).compile();
      let link: OneTimeLink | null = null;
      const results = await versions.write(found.ownerId, async () => {
        // Again: the attempt before may have come after another process that took it.
        link = await findLink(tokenDigest, now);
        const children = { [childName('one_time_links', tokenDigest)]: null };
        return link === null ? null : { children, rows: () => ({ queries: [query] }) };
      });
      // A server of the version before may have taken it meanwhile.
      return results?.[0]?.changes === 1 ? link : null;
    },
  };
}
