// Secrets of the service itself, such as the key that signs Web Push requests: sealed with the master key in `meta`.
import type { Store } from '../gateway/ports.ts';
import { type Place, seal, unseal } from './cipher.ts';
import type { Database } from './database.ts';
import type { Keyring } from './keyring.ts';

export function createSecretStore(database: Database, { master }: Keyring): Pick<Store, 'obtainSecret'> {
  const { build } = database;
  const placeOf = (name: string): Place => ({ table: 'meta', ownerId: '', rowId: name, column: 'value' });

  async function read(name: string): Promise<string | null> {
    const [row] = await database.read(build.selectFrom('meta').select('value').where('name', '=', name).compile());
    return row === undefined ? null : unseal(master, placeOf(name), row.value).toString('utf8');
  }

  return {
    async obtainSecret(name, make) {
      const known = await read(name);
      if (known !== null) return known;
      const value = seal(master, placeOf(name), make());
      const insert = build.insertInto('meta').values({ name, value });
      await database.write([insert.onConflict((conflict) => conflict.doNothing()).compile()]);
      // Another process may have been first; what is stored counts.
      return (await read(name)) as string;
    },
  };
}
