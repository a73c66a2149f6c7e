// What somebody signs in with for good: passkeys, and identities of an OpenID provider.
import { type CompiledQuery, sql } from 'kysely';
import type { OidcIdentity, Passkey, SignInStore } from '../../usecases/ports/sign-in.ts';
import { ConstraintViolated, type Database } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { sealVersioned } from '../vault/encrypted-columns.ts';
import type { Keyring } from '../vault/keyring.ts';
import { childName, type RowVersions } from '../vault/row-versions.ts';
import { createOwnedRows } from './owned-rows.ts';

type SignInKeyStore = Pick<
  SignInStore,
  | 'createPasskey'
  | 'listPasskeys'
  | 'findPasskey'
  | 'usePasskey'
  | 'deletePasskey'
  | 'createIdentity'
  | 'listIdentities'
  | 'findIdentity'
  | 'deleteIdentity'
>;

type SealedPasskey = Pick<Passkey, 'credentialDigest' | 'credentialId' | 'publicKey' | 'transports' | 'name'> & {
  /** Absent in rows of versions that did not know it. */
  userVerified?: boolean | null;
};
type SealedIdentity = Pick<OidcIdentity, 'subjectDigest' | 'issuer' | 'subject'>;

export function createSignInKeyStore(database: Database, keyring: Keyring, versions: RowVersions): SignInKeyStore {
  const { build } = database;
  const rows = createOwnedRows(database, keyring, versions);

  const toPasskey = (row: Tables['passkeys'], sealed: SealedPasskey): Passkey | null =>
    sealed.credentialDigest === row.credential_digest
      ? {
          id: row.id,
          ownerId: row.owner_id,
          counter: row.counter,
          createdAt: row.created_at,
          usedAt: row.used_at,
          ...sealed,
          userVerified: sealed.userVerified ?? null,
        }
      : null;

  const toIdentity = (row: Tables['oidc_identities'], sealed: SealedIdentity): OidcIdentity | null =>
    sealed.subjectDigest === row.subject_digest
      ? { id: row.id, ownerId: row.owner_id, createdAt: row.created_at, ...sealed }
      : null;

  return {
    async createPasskey({ id, ownerId, counter, createdAt, usedAt, ...rest }) {
      const { credentialDigest } = rest;
      const sealed: SealedPasskey = sealedPart(rest);
      await rows.insert('passkeys', ownerId, id, sealed, {
        id,
        credential_digest: credentialDigest,
        counter,
        created_at: createdAt,
        used_at: usedAt,
      });
    },

    listPasskeys: (ownerId) => rows.list('passkeys', sql`owner_id = ${ownerId} order by created_at, id`, toPasskey),

    findPasskey: (credentialDigest) => rows.find('passkeys', sql`credential_digest = ${credentialDigest}`, toPasskey),

    async usePasskey(passkey, { counter, usedAt, userVerified }) {
      const { ownerId, id } = passkey;
      const update = (sealed?: Buffer): CompiledQuery =>
        build
          .updateTable('passkeys')
          .set({ counter, used_at: usedAt, ...(sealed && { sealed }) })
          .where('owner_id', '=', ownerId)
          .where('id', '=', id)
          .where('counter', '=', passkey.counter)
          .compile();
      if (!userVerified || passkey.userVerified === true) {
        const [used] = await database.write([update()]);
        return used?.changes === 1;
      }
      // One that can verify its user is known to from then on.
      const key = await keyring.current(ownerId);
      const value = { ...sealedPart(passkey), userVerified };
      try {
        await versions.write(ownerId, async (version) => {
          const sealed = sealVersioned(key, 'passkeys', ownerId, id, value, version);
          return {
            children: { [childName('passkeys', id)]: version },
            rows: () => ({ queries: [update(sealed)], written: { table: 'passkeys', ownerId, sealed } }),
          };
        });
        return true;
      } catch (error) {
        if (error instanceof ConstraintViolated) return false;
        throw error;
      }
    },

    deletePasskey: (ownerId, id) => rows.remove('passkeys', ownerId, id),

    async createIdentity({ id, ownerId, subjectDigest, issuer, subject, createdAt }) {
      const sealed: SealedIdentity = { subjectDigest, issuer, subject };
      await rows.insert('oidc_identities', ownerId, id, sealed, {
        id,
        subject_digest: subjectDigest,
        created_at: createdAt,
      });
    },

    listIdentities: (ownerId) =>
      rows.list('oidc_identities', sql`owner_id = ${ownerId} order by created_at, id`, toIdentity),

    findIdentity: (subjectDigest) => rows.find('oidc_identities', sql`subject_digest = ${subjectDigest}`, toIdentity),

    deleteIdentity: (ownerId, id) => rows.remove('oidc_identities', ownerId, id),
  };
}

function sealedPart(passkey: SealedPasskey): SealedPasskey {
  const { credentialDigest, credentialId, publicKey, transports, name, userVerified } = passkey;
  return { credentialDigest, credentialId, publicKey, transports, name, userVerified: userVerified ?? null };
}
