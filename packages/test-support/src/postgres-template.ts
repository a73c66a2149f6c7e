// An initialized data directory of PostgreSQL, made once and kept in node_modules/.cache: a copy takes a tenth of the
// processor time of initdb.
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const databaseUser = 'tocsin';

const cache = fileURLToPath(new URL('../../../node_modules/.cache', import.meta.url));
const options = [
  '--no-sync',
  '--locale=C.UTF-8',
  '--encoding=UTF8',
  '--auth=scram-sha-256',
  `--username=${databaseUser}`,
];

export interface PostgresTemplate {
  /** The data directory; it belongs to the user that runs the server. */
  data: string;
  /** The password of the user. */
  password: string;
}

/** `programs` is the folder of initdb; `account` is the user that runs the server, if that is not the present one. */
export function postgresTemplate(
  programs: string,
  account: { uid: number; gid: number } | null,
  setpriv: string[],
): PostgresTemplate {
  const initdb = join(programs, 'initdb');
  const version = execFileSync(initdb, ['--version'], { encoding: 'utf8' });
  const hash = createHash('sha256').update(JSON.stringify([version, options, account ?? process.getuid?.()]));
  const folder = join(cache, `tocsin-postgres-${hash.digest('hex').slice(0, 12)}`);
  if (!existsSync(folder)) create(folder, initdb, account, setpriv);
  return { data: join(folder, 'data'), password: readFileSync(join(folder, 'password'), 'utf8') };
}

function create(folder: string, initdb: string, account: { uid: number; gid: number } | null, setpriv: string[]): void {
  mkdirSync(cache, { recursive: true });
  // The server's user may have no access to the clone.
  const work = mkdtempSync(join(tmpdir(), 'tocsin-postgres-template-'));
  const draft = mkdtempSync(join(cache, 'tocsin-postgres-draft-'));
  try {
    if (account !== null) chownSync(work, account.uid, account.gid);
    const passwordFile = join(work, 'password');
    writeFileSync(passwordFile, randomBytes(12).toString('hex'), { mode: 0o644 });
    const command = [initdb, ...options, `--pwfile=${passwordFile}`, '-D', join(work, 'data')];
    execFileSync('setpriv', [...setpriv, ...command], { cwd: work, stdio: 'pipe' });
    execFileSync('cp', ['-a', `${work}/.`, draft]);
    renameSync(draft, folder);
  } catch (error) {
    // Another process has created it meanwhile.
    if (!existsSync(folder)) throw error;
  } finally {
    for (const each of [work, draft]) rmSync(each, { recursive: true, force: true });
  }
}
