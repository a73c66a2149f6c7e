import { type CompiledQuery, sql } from 'kysely';
import type { Passkey, PasskeyRepository } from '../../usecases/ports/sign-in.ts';
import { ConstraintViolated, type Database } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { encryptVersioned } from '../vault/encrypted-rows.ts';
import type { Keyring } from '../vault/keyring.ts';
import type { RowVersions } from '../vault/row-versions.ts';
import { childName } from '../vault/version-tree.ts';
import { createCredentialRows } from './credential-rows.ts';

type EncryptedPasskey = Pick<Passkey, 'credentialDigest' | 'credentialId' | 'publicKey' | 'transports' | 'name'> & {
  /** Missing in rows of earlier releases. */
  userVerified?: boolean | null;
};
export function createPasskeyRepository(
  database: Database,
  keyring: Keyring,
  versions: RowVersions,
): PasskeyRepository {
  const { build } = database;
  const rows = createCredentialRows(database, keyring, versions);

  const toPasskey = (row: Tables['passkeys'], sealed: EncryptedPasskey): Passkey | null =>
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

  return {
    async create({ id, ownerId, counter, createdAt, usedAt, ...rest }) {
      const { credentialDigest } = rest;
      const sealed: EncryptedPasskey = encryptedFields(rest);
      await rows.insert('passkeys', ownerId, id, sealed, {
        id,
        credential_digest: credentialDigest,
        counter,
        created_at: createdAt,
        used_at: usedAt,
      });
    },

    list: (ownerId) => rows.list('passkeys', sql`owner_id = ${ownerId} order by created_at, id`, toPasskey),

    find: (credentialDigest) => rows.find('passkeys', sql`credential_digest = ${credentialDigest}`, toPasskey),

    async recordUse(passkey, { counter, usedAt, userVerified }) {
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
      // Records that the authenticator can verify its user.
      const key = await keyring.current(ownerId);
      const value = { ...encryptedFields(passkey), userVerified };
      try {
        await versions.write(ownerId, async (version) => {
          const sealed = encryptVersioned(key, 'passkeys', ownerId, id, value, version);
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

    delete: (ownerId, id) => rows.remove('passkeys', ownerId, id),
  };
}

function encryptedFields(passkey: EncryptedPasskey): EncryptedPasskey {
  const { credentialDigest, credentialId, publicKey, transports, name, userVerified } = passkey;
  return { credentialDigest, credentialId, publicKey, transports, name, userVerified: userVerified ?? null };
}
