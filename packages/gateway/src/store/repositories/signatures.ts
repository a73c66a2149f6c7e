import type { SignatureRepository } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';

export function createSignatureRepository({ build, write }: Database): SignatureRepository {
  return {
    async claim(ownerId, signature, expiresAt) {
      const [claimed] = await write([
        build
          .insertInto('used_signatures')
          .values({ owner_id: ownerId, signature, expires_at: expiresAt })
          .onConflict((conflict) => conflict.doNothing())
          .compile(),
      ]);
      return claimed?.changes === 1;
    },
  };
}
