// What somebody signs in with for good: passkeys, and identities of an OpenID provider.
import type { OidcIdentity, Passkey, SignInStore } from '../gateway/ports/sign-in.ts';
import type { Database } from './database.ts';
import type { Keyring } from './keyring.ts';
import { createOwnedRows } from './owned-rows.ts';
import type { Tables } from './tables.ts';

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

export function createSignInKeyStore(database: Database, keyring: Keyring): SignInKeyStore {
  const { build } = database;
  const rows = createOwnedRows(database, keyring);

  const openPasskey = (row: Tables['passkeys']): Promise<Passkey | null> =>
    rows.open<SealedPasskey, Passkey>('passkeys', row, (sealed) =>
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
        : null,
    );

  const openIdentity = (row: Tables['oidc_identities']): Promise<OidcIdentity | null> =>
    rows.open<SealedIdentity, OidcIdentity>('oidc_identities', row, (sealed) =>
      sealed.subjectDigest === row.subject_digest
        ? { id: row.id, ownerId: row.owner_id, createdAt: row.created_at, ...sealed }
        : null,
    );

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

    async listPasskeys(ownerId) {
      const query = build.selectFrom('passkeys').selectAll().where('owner_id', '=', ownerId);
      return rows.readable(await database.read(query.orderBy('created_at').orderBy('id').compile()), openPasskey);
    },

    async findPasskey(credentialDigest) {
      const query = build.selectFrom('passkeys').selectAll().where('credential_digest', '=', credentialDigest);
      const [row] = await database.read(query.compile());
      return row === undefined ? null : openPasskey(row);
    },

    async usePasskey(passkey, { counter, usedAt, userVerified }) {
      // One that can verify its user is known to from then on.
      const isNews = userVerified && passkey.userVerified !== true;
      const sealed = isNews && (await rows.seal('passkeys', passkey, { ...sealedPart(passkey), userVerified }));
      const [used] = await database.write([
        build
          .updateTable('passkeys')
          .set({ counter, used_at: usedAt, ...(sealed && { sealed }) })
          .where('owner_id', '=', passkey.ownerId)
          .where('id', '=', passkey.id)
          .where('counter', '=', passkey.counter)
          .compile(),
      ]);
      return used?.changes === 1;
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

    async listIdentities(ownerId) {
      const query = build.selectFrom('oidc_identities').selectAll().where('owner_id', '=', ownerId);
      return rows.readable(await database.read(query.orderBy('created_at').orderBy('id').compile()), openIdentity);
    },

    async findIdentity(subjectDigest) {
      const query = build.selectFrom('oidc_identities').selectAll().where('subject_digest', '=', subjectDigest);
      const [row] = await database.read(query.compile());
      return row === undefined ? null : openIdentity(row);
    },

    deleteIdentity: (ownerId, id) => rows.remove('oidc_identities', ownerId, id),
  };
}

function sealedPart(passkey: SealedPasskey): SealedPasskey {
  const { credentialDigest, credentialId, publicKey, transports, name, userVerified } = passkey;
  return { credentialDigest, credentialId, publicKey, transports, name, userVerified: userVerified ?? null };
}
