// npm run bench:wordpress [-- ROUNDS]: what a template that is switched on adds to a page view, on a machine that does
// nothing else. The promise is less than 5 ms at the median.

import { measurePageSpeed } from '../test/support/page-speed.ts';
import { wordpressObstacle } from '../test/support/wordpress-files.ts';

const promisedMs = 5;
const rounds = Number(process.argv[2] ?? 80);
const obstacle = wordpressObstacle();
if (obstacle !== null) throw new Error(obstacle);
const { withTemplate, without, gatewayRequestsWithinPages, received } = await measurePageSpeed(rounds);
const added = withTemplate - without;
console.log(`${rounds} page views of each kind, taking turns, on PHP's own server:
  without the template  ${without.toFixed(1)} ms at the median
  with it               ${withTemplate.toFixed(1)} ms at the median
  added                 ${added.toFixed(1)} ms (promised: less than ${promisedMs} ms)
  requests to the gateway that a page waited for: ${gatewayRequestsWithinPages}; notifications received: ${received} of ${rounds}`);
process.exitCode = added < promisedMs && gatewayRequestsWithinPages === 0 && received === rounds ? 0 : 1;
