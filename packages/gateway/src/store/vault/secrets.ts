// Secrets of the service itself, such as the VAPID key of Web Push: encrypted with the master key, in `meta`.
import type { SecretRepository } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import { bumpGeneration } from '../schema/generation.ts';
import { type CipherContext, encrypt } from './cipher.ts';
import type { Keyring } from './keyring.ts';

export function createSecretRepository(database: Database, { master }: Keyring): SecretRepository {
  const { build } = database;
  async function read(name: string): Promise<string | null> {
    const [row] = await database.read(build.selectFrom('meta').select('value').where('name', '=', name).compile());
    return row === undefined ? null : (await master.decrypt(secretContext(name), row.value)).toString('utf8');
  }

  return {
    find: read,

    async delete(name) {
      await database.write([build.deleteFrom('meta').where('name', '=', name).compile()]);
    },

    async obtain(name, make) {
      const known = await read(name);
      if (known !== null) return known;
      const secret = make();
      await master.write((key) => [
        build
          .insertInto('meta')
          .values({ name, value: encrypt(key, secretContext(name), secret) })
          .onConflict((conflict) => conflict.doNothing())
          .compile(),
        bumpGeneration(database),
      ]);
      // Another process may have stored its secret first.
      return (await read(name)) as string;
    },
  };
}

export function secretContext(name: string): CipherContext {
  return { table: 'meta', ownerId: '', rowId: name, column: 'value' };
}
