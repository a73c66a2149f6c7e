import type { FirstAnswer, IdempotencyStore } from '../gateway/ports.ts';
import { type Place, seal } from './cipher.ts';
import type { Database } from './database.ts';
import type { Keyring } from './keyring.ts';

export function createIdempotencyStore(database: Database, keyring: Keyring): IdempotencyStore {
  const { build } = database;

  const placeOf = (ownerId: string, keyDigest: string): Place => ({
    table: 'idempotency',
    ownerId,
    rowId: keyDigest,
    column: 'sealed',
  });

  return {
    async findIdempotent(ownerId, keyDigest, now) {
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
      const answer =
        row.sealed === null ? null : (await keyring.unseal(placeOf(ownerId, keyDigest), row.sealed)).toString('utf8');
      return {
        fingerprint: row.fingerprint,
        notificationId: row.notification_id,
        leaseUntil: row.lease_until,
        answer: answer === null ? null : (JSON.parse(answer) as FirstAnswer),
      };
    },

    async answerIdempotent(ownerId, keyDigest, answer) {
      const sealed = seal(await keyring.current(ownerId), placeOf(ownerId, keyDigest), JSON.stringify(answer));
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
