// npm run bench:wordpress [-- mariadb] [-- ROUNDS]: how much an enabled template adds to the response time of a page, on an
// otherwise idle machine. The limit is 5 ms at the median.
import { fileURLToPath } from 'node:url';
import { measurePageSpeed } from '../test/support/page-speed.ts';
import { mariadbSocket, wordpressObstacle } from '../test/support/wordpress-files.ts';
import { withMariadb } from './mariadb.ts';
import { endGroupsOnSignals, runInGroup } from './process-group.ts';

const limitMs = 5;
const rounds = process.argv.find((argument) => /^\d+$/.test(argument)) ?? '80';

if (process.argv.includes('mariadb')) {
  endGroupsOnSignals();
  await withMariadb((socket) =>
    runInGroup(process.execPath, [fileURLToPath(import.meta.url), rounds], { TOCSIN_TEST_MARIADB: socket }),
  );
} else {
  await measure(Number(rounds));
}

async function measure(rounds: number): Promise<void> {
  const obstacle = wordpressObstacle();
  if (obstacle !== null) throw new Error(obstacle);
  const { withTemplate, without, gatewayRequestsWithinPages, received } = await measurePageSpeed(rounds);
  const added = withTemplate - without;
  console.log(`${rounds} page views of each kind, alternating, on PHP's built-in server and ${mariadbSocket === null ? 'SQLite' : 'MariaDB'}:
  without the template  ${without.toFixed(1)} ms at the median
  with it               ${withTemplate.toFixed(1)} ms at the median
  added                 ${added.toFixed(1)} ms (limit: ${limitMs} ms)
  requests to the gateway during a page: ${gatewayRequestsWithinPages}; notifications received: ${received} of ${rounds}`);
  process.exitCode = added < limitMs && gatewayRequestsWithinPages === 0 && received === rounds ? 0 : 1;
}
