// The folder in which Node keeps compiled code between runs. Any user who can write to it, or put another in its place,
// runs code as this user: only a private folder is used, and where there is none, commands start more slowly.
import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Makes the folder if it is missing; undefined if no private one can be had. */
export function privateCacheFolder(environment = process.env) {
  return candidates(environment)
    .map((parent) => makePrivate(join(parent, 'tocsin', 'compiled')))
    .find((folder) => folder !== undefined);
}

/** Never the temporary folder: all users share it, and a predictable name there belongs to the first who takes it. */
function candidates({ XDG_CACHE_HOME, HOME }) {
  return [XDG_CACHE_HOME, HOME && join(HOME, '.cache')].filter((folder) => folder?.startsWith('/'));
}

function makePrivate(folder) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (lstatSync(folder).isSymbolicLink()) return undefined;
    // Links above it are followed once, here: what they lead to afterwards does not matter.
    const real = realpathSync(folder);
    return isPrivate(real) ? real : undefined;
  } catch {
    // No home, a read-only one, or one that belongs to another user.
    return undefined;
  }
}

/** Neither the folder nor any above it can be written to or exchanged by another user than root. */
function isPrivate(folder) {
  const uid = process.geteuid?.();
  if (uid === undefined || lstatSync(folder).uid !== uid) return false;
  for (let path = folder; ; path = dirname(path)) {
    const stats = lstatSync(path);
    const isOurs = stats.uid === uid || stats.uid === 0;
    const isWritable = (stats.mode & 0o022) !== 0;
    // In a folder with the sticky bit, such as /tmp, nobody can exchange what belongs to us.
    const isSticky = path !== folder && (stats.mode & 0o1000) !== 0;
    if (!stats.isDirectory() || !isOurs || (isWritable && !isSticky)) return false;
    if (dirname(path) === path) return true;
  }
}
