import {
  DecryptionFailed,
  EncryptionKeyMissing,
  type IdempotencyRepository,
  type StoredResponse,
} from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import { type CipherContext, encrypt } from '../vault/cipher.ts';
import type { Keyring } from '../vault/keyring.ts';

export function createIdempotencyRepository(database: Database, keyring: Keyring): IdempotencyRepository {
  const { build } = database;

  /** Treats a response that cannot be decrypted as missing: the outcome of the request is still known from its dispatch. */
  async function decrypt(
    ownerId: string,
    keyDigest: string,
    sealed: Uint8Array | null,
  ): Promise<StoredResponse | null> {
    if (sealed === null) return null;
    try {
      const decrypted = await keyring.decrypt(idempotencyContext(ownerId, keyDigest), sealed);
      return JSON.parse(decrypted.toString('utf8')) as StoredResponse;
    } catch (error) {
      if (error instanceof DecryptionFailed || error instanceof EncryptionKeyMissing) return null;
      throw error;
    }
  }

  return {
    async find(ownerId, keyDigest, now) {
      const [row] = await database.read(
        build
          .selectFrom('idempotency')
          .selectAll()
          .where('owner_id', '=', ownerId)
          .where('key_digest', '=', keyDigest)
          .where('expires_at', '>', now)
          .compile(),
      );
      if (row === undefined) return null;
      const { fingerprint, notification_id: notificationId, lease_until: leaseUntil } = row;
      return { fingerprint, notificationId, leaseUntil, answer: await decrypt(ownerId, keyDigest, row.sealed) };
    },

    async saveResponse(ownerId, keyDigest, response) {
      const sealed = encrypt(
        await keyring.current(ownerId),
        idempotencyContext(ownerId, keyDigest),
        JSON.stringify(response),
      );
      await database.write([
        build
          .updateTable('idempotency')
          .set({ sealed })
          .where('owner_id', '=', ownerId)
          .where('key_digest', '=', keyDigest)
          .where('sealed', 'is', null)
          .compile(),
      ]);
    },
  };
}

export function idempotencyContext(ownerId: string, keyDigest: string): CipherContext {
  return { table: 'idempotency', ownerId, rowId: keyDigest, column: 'sealed' };
}
