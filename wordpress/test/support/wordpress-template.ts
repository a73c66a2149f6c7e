// Installs WordPress once and copies it for each test site: a copy takes milliseconds, an installation a second.
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { mariadbSocket, sqliteDropIn, supportPhp, wordpressCache, wordpressTree } from './wordpress-files.ts';

/** Host of the installed template, replaced in each copy. */
const templateHost = '127.0.0.1:1';

/** Creates an installed WordPress in a folder, to be served as `host`. */
export function installSite(folder: string, host: string, kind: 'single' | 'network'): void {
  if (mariadbSocket !== null) {
    const database = databaseOf(folder);
    execFileSync('mariadb', ['--no-defaults', `--socket=${mariadbSocket}`, '-e', `CREATE DATABASE ${database}`]);
    install(folder, host, kind);
  } else {
    cpSync(template(kind), folder, { recursive: true, verbatimSymlinks: true });
    rehost(join(folder, 'database', 'site.sqlite'), host, kind);
  }
  writeConfiguration(folder, host, kind);
}

/** Drops the database on the MariaDB server, which is not deleted with the folder. */
export function dropDatabase(folder: string): void {
  if (mariadbSocket === null) return;
  const statement = `DROP DATABASE IF EXISTS ${databaseOf(folder)}`;
  execFileSync('mariadb', ['--no-defaults', `--socket=${mariadbSocket}`, '-e', statement]);
}

function template(kind: 'single' | 'network'): string {
  const sources = [fileURLToPath(import.meta.url), join(supportPhp, 'install.php'), join(supportPhp, 'offline.php')];
  const hash = createHash('sha256').update(wordpressTree);
  for (const source of sources) hash.update(readFileSync(source));
  const folder = join(wordpressCache, `site-${kind}-${hash.digest('hex').slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  const work = mkdtempSync(join(wordpressCache, 'installing-'));
  try {
    install(work, templateHost, kind);
    for (const name of ['wp-config.php', 'requests.jsonl']) rmSync(join(work, name), { force: true });
    renameSync(work, folder);
  } catch (error) {
    rmSync(work, { recursive: true });
    // Another process has created it in the meantime.
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

function install(folder: string, host: string, kind: 'single' | 'network'): void {
  const content = join(folder, 'wp-content');
  for (const name of ['mu-plugins', 'plugins', 'uploads']) mkdirSync(join(content, name), { recursive: true });
  symlinkSync(join(wordpressTree, 'wp-content', 'themes'), join(content, 'themes'));
  cpSync(join(supportPhp, 'offline.php'), join(content, 'mu-plugins', 'offline.php'));
  if (mariadbSocket === null) {
    mkdirSync(join(folder, 'database'));
    // Like db.copy of the drop-in, but without activating it as a plugin.
    writeFileSync(
      join(content, 'db.php'),
      `<?php\ndefine( 'DB_ENGINE', 'sqlite' );\nrequire_once '${sqliteDropIn}/wp-includes/sqlite/db.php';\n`,
    );
  }
  writeConfiguration(folder, host, 'single');
  execFileSync('php', [join(supportPhp, 'install.php'), kind], {
    env: { PATH: process.env.PATH, WORDPRESS_SITE: folder, WORDPRESS_TREE: wordpressTree, WORDPRESS_HOST: host },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function rehost(file: string, host: string, kind: 'single' | 'network'): void {
  const database = new DatabaseSync(file);
  const url = `http://${host}`;
  database.exec(`UPDATE wp_options SET option_value = '${url}' WHERE option_name IN ('siteurl', 'home')`);
  if (kind === 'network') {
    database.exec(`UPDATE wp_site SET domain = '${host}'; UPDATE wp_blogs SET domain = '${host}'`);
    database.exec(`UPDATE wp_sitemeta SET meta_value = '${url}/' WHERE meta_key = 'siteurl'`);
  }
  database.close();
}

function writeConfiguration(folder: string, host: string, kind: 'single' | 'network'): void {
  const constants: Record<string, string | boolean | number> = {
    DB_NAME: databaseOf(folder),
    DB_USER: 'root',
    DB_PASSWORD: '',
    DB_HOST: `localhost:${mariadbSocket ?? ''}`,
    DB_CHARSET: 'utf8mb4',
    DB_COLLATE: '',
    DB_DIR: join(folder, 'database'),
    DB_FILE: 'site.sqlite',
    WP_CONTENT_DIR: join(folder, 'wp-content'),
    WP_CONTENT_URL: `http://${host}/wp-content`,
    WP_DEBUG: true,
    WP_DEBUG_DISPLAY: false,
    WP_DEBUG_LOG: join(folder, 'debug.log'),
    AUTOMATIC_UPDATER_DISABLED: true,
    FS_METHOD: 'direct',
    ...(kind === 'network' && {
      WP_ALLOW_MULTISITE: true,
      MULTISITE: true,
      SUBDOMAIN_INSTALL: false,
      DOMAIN_CURRENT_SITE: host,
      PATH_CURRENT_SITE: '/',
      SITE_ID_CURRENT_SITE: 1,
      BLOG_ID_CURRENT_SITE: 1,
    }),
  };
  for (const name of ['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE']) {
    constants[`${name}_KEY`] = randomBytes(32).toString('hex');
    constants[`${name}_SALT`] = randomBytes(32).toString('hex');
  }
  const lines = Object.entries(constants).map(([name, value]) => `define( '${name}', ${JSON.stringify(value)} );`);
  writeFileSync(join(folder, 'wp-config.php'), `<?php\n${lines.join('\n')}\n$table_prefix = 'wp_';\n`);
}

function databaseOf(folder: string): string {
  return `wp_${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`;
}
