// Links that sign in once. Everything that decides about a link is encrypted, its digest and expiry included, so write
// access to the database without a key does not let anyone in, nor does a rolled back row (`row-versions.ts`).
import { sql } from 'kysely';
import type { OneTimeLink, OneTimeLinkRepository } from '../../usecases/ports/sign-in.ts';
import type { Database } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import type { Keyring } from '../vault/keyring.ts';
import type { RowVersions } from '../vault/row-versions.ts';
import { childName } from '../vault/version-tree.ts';
import { createCredentialRows } from './credential-rows.ts';

type EncryptedLink = Pick<OneTimeLink, 'tokenDigest' | 'purpose' | 'method' | 'email' | 'expiresAt'>;

export function createOneTimeLinkRepository(
  database: Database,
  keyring: Keyring,
  versions: RowVersions,
): OneTimeLinkRepository {
  const { build } = database;
  const rows = createCredentialRows(database, keyring, versions);

  const toLink = (row: Tables['one_time_links'], sealed: EncryptedLink): OneTimeLink | null =>
    sealed.expiresAt === row.expires_at ? { ownerId: row.owner_id, createdAt: row.created_at, ...sealed } : null;

  const find = (tokenDigest: string, now: number): Promise<OneTimeLink | null> =>
    rows.find('one_time_links', sql`token_digest = ${tokenDigest} and expires_at > ${now}`, toLink);

  return {
    async create({ tokenDigest, ownerId, purpose, method, email, createdAt, expiresAt }) {
      const sealed: EncryptedLink = { tokenDigest, purpose, method, email, expiresAt };
      await rows.insert('one_time_links', ownerId, tokenDigest, sealed, {
        token_digest: tokenDigest,
        created_at: createdAt,
        expires_at: expiresAt,
      });
    },

    find,

    async consume(tokenDigest, now) {
      const found = await find(tokenDigest, now);
      if (found === null) return null;
      const query = build.deleteFrom('one_time_links').where('token_digest', '=', tokenDigest).compile();
      let link: OneTimeLink | null = null;
      const results = await versions.write(found.ownerId, async () => {
        // Read again, since another process may have consumed it before this attempt.
        link = await find(tokenDigest, now);
        const children = { [childName('one_time_links', tokenDigest)]: null };
        return link === null ? null : { children, rows: () => ({ queries: [query] }) };
      });
      // A server of the previous version may have consumed it meanwhile.
      return results?.[0]?.changes === 1 ? link : null;
    },
  };
}
