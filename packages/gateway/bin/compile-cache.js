// The folder in which Node keeps compiled code between runs. A user who can write to it or replace it can run code as this
// user: only a private folder is used. Without one, nothing is kept and commands start more slowly.
const { lstatSync, mkdirSync, realpathSync } = process.getBuiltinModule('node:fs');
const { dirname, join } = process.getBuiltinModule('node:path');

/** Creates the folder if it is missing; undefined if no private one is possible. */
export function privateCacheFolder(environment = process.env) {
  return candidates(environment)
    .map((parent) => makePrivate(join(parent, 'tocsin', 'compiled')))
    .find((folder) => folder !== undefined);
}

/** Never the temporary folder: all users share it, and any of them can create a predictable name there first. */
function candidates({ XDG_CACHE_HOME, HOME }) {
  return [XDG_CACHE_HOME, HOME && join(HOME, '.cache')].filter((folder) => folder?.startsWith('/'));
}

function makePrivate(folder) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (lstatSync(folder).isSymbolicLink()) return undefined;
    // Links above it are resolved once, here: a later change of them has no effect.
    const real = realpathSync(folder);
    return isPrivate(real) ? real : undefined;
  } catch {
    // There is no home, it is read-only, or it belongs to another user.
    return undefined;
  }
}

/** Whether only this user and root can write to the folder or replace it or a folder above it. */
function isPrivate(folder) {
  const uid = process.geteuid?.();
  if (uid === undefined || lstatSync(folder).uid !== uid) return false;
  for (let path = folder; ; path = dirname(path)) {
    const stats = lstatSync(path);
    const isOurs = stats.uid === uid || stats.uid === 0;
    const isWritable = (stats.mode & 0o022) !== 0;
    // In a folder with the sticky bit, such as /tmp, other users cannot replace our files.
    const isSticky = path !== folder && (stats.mode & 0o1000) !== 0;
    if (!stats.isDirectory() || !isOurs || (isWritable && !isSticky)) return false;
    if (dirname(path) === path) return true;
  }
}
