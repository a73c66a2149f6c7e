// Sessions of the console. Everything that decides about a session is encrypted, its digest included, so write access to the
// database without a key does not let anyone in, nor does a rolled back row (`row-versions.ts`).
import { sql } from 'kysely';
import type { Session, SessionRepository } from '../../usecases/ports/sign-in.ts';
import type { Database } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import type { Keyring } from '../vault/keyring.ts';
import type { RowVersions } from '../vault/row-versions.ts';
import { childName } from '../vault/version-tree.ts';
import { createCredentialRows } from './credential-rows.ts';

type EncryptedSession = Pick<Session, 'tokenDigest' | 'method' | 'userAgent' | 'address'>;

export function createSessionRepository(
  database: Database,
  keyring: Keyring,
  versions: RowVersions,
): SessionRepository {
  const { build } = database;
  const rows = createCredentialRows(database, keyring, versions);

  const toSession = (row: Tables['sessions'], sealed: EncryptedSession): Session | null =>
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

  return {
    async create({ id, ownerId, tokenDigest, method, userAgent, address, createdAt, seenAt, expiresAt }) {
      const sealed: EncryptedSession = { tokenDigest, method, userAgent, address };
      await rows.insert('sessions', ownerId, id, sealed, {
        id,
        token_digest: tokenDigest,
        created_at: createdAt,
        seen_at: seenAt,
        expires_at: expiresAt,
      });
    },

    find: (tokenDigest, now) =>
      rows.find('sessions', sql`token_digest = ${tokenDigest} and expires_at > ${now}`, toSession),

    list: (ownerId, now) =>
      rows.list('sessions', sql`owner_id = ${ownerId} and expires_at > ${now} order by seen_at desc, id`, toSession),

    async touch({ ownerId, id }, { seenAt, expiresAt }) {
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

    delete: (ownerId, id) => rows.remove('sessions', ownerId, id),

    async deleteOthers(ownerId, exceptId) {
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
  };
}
