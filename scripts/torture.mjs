// Kills the gateway under load, thousands of times, on each store, and compares the store with the responses to callers:
//   npm run torture            2000 kills on SQLite, then 2000 on PostgreSQL: hours
//   npm run torture -- 200     fewer
import { spawnSync } from 'node:child_process';

const usage = `Usage: npm run torture -- [N]

Kills the gateway under load N times on SQLite (default 2000: hours), then N times on PostgreSQL.
`;

const kills = process.argv[2] ?? '2000';
if (kills === '--help' || kills === '-h') {
  process.stdout.write(usage);
  process.exit(0);
}
if (!/^[1-9][0-9]*$/.test(kills)) {
  console.error(`'${kills}' is not a number of kills.\n\n${usage}`);
  process.exit(2);
}
const { status } = spawnSync(process.execPath, ['--test', 'packages/gateway/test/durability.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, TOCSIN_TEST_KILLS: kills },
});
process.exit(status ?? 1);
