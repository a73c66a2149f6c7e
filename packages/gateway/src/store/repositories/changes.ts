import { sql } from 'kysely';
import type { ChangeFeed } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';

export function createChangeFeed(database: Database): ChangeFeed {
  const { build } = database;
  return {
    async read() {
      const irregular = build.selectFrom('api_keys').select('id').where('irregular', '=', sql.lit(1)).limit(1);
      const [row] = await database.read(
        build
          .selectFrom('changes')
          .select('generation')
          .select((eb) => eb.exists(irregular).as('irregular'))
          .where('id', '=', 1)
          .compile(),
      );
      if (row === undefined) throw new Error('The table "changes" has lost its row.');
      return { generation: row.generation, hasIrregularKeys: Boolean(row.irregular) };
    },

    listen: (listener) => database.onChange(listener),
  };
}
