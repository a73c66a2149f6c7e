// Identities of an OpenID provider that are linked to owners.
import { sql } from 'kysely';
import type { IdentityRepository, OidcIdentity } from '../../usecases/ports/sign-in.ts';
import type { Database } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import type { Keyring } from '../vault/keyring.ts';
import type { RowVersions } from '../vault/row-versions.ts';
import { createCredentialRows } from './credential-rows.ts';

type EncryptedIdentity = Pick<OidcIdentity, 'subjectDigest' | 'issuer' | 'subject'>;

export function createIdentityRepository(
  database: Database,
  keyring: Keyring,
  versions: RowVersions,
): IdentityRepository {
  const rows = createCredentialRows(database, keyring, versions);

  const toIdentity = (row: Tables['oidc_identities'], sealed: EncryptedIdentity): OidcIdentity | null =>
    sealed.subjectDigest === row.subject_digest
      ? { id: row.id, ownerId: row.owner_id, createdAt: row.created_at, ...sealed }
      : null;

  return {
    async create({ id, ownerId, subjectDigest, issuer, subject, createdAt }) {
      const sealed: EncryptedIdentity = { subjectDigest, issuer, subject };
      await rows.insert('oidc_identities', ownerId, id, sealed, {
        id,
        subject_digest: subjectDigest,
        created_at: createdAt,
      });
    },

    list: (ownerId) => rows.list('oidc_identities', sql`owner_id = ${ownerId} order by created_at, id`, toIdentity),

    find: (subjectDigest) => rows.find('oidc_identities', sql`subject_digest = ${subjectDigest}`, toIdentity),

    delete: (ownerId, id) => rows.remove('oidc_identities', ownerId, id),
  };
}
