/** What the operating system says about a file, in words that name no system call. */
export function describeFileError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (isTooManyFiles(error)) return tooManyFiles.replace('This', 'this').replace(/\.$/, '');
  return (code === undefined ? undefined : texts[code]) ?? message;
}

export const tooManyFiles =
  'This process may not open any more files. Raise the limit: LimitNOFILE= in a systemd unit, ulimit -n in a shell, ' +
  '--ulimit nofile= for a container.';

/** Wherever the limit was met: opening a file or a socket, loading a module, starting a thread. */
export function isTooManyFiles(error: unknown): boolean {
  const { code = '', message = '' } = error as NodeJS.ErrnoException;
  return ['EMFILE', 'ENFILE'].includes(code) || /\bE[MN]FILE\b|too many open files/.test(message);
}

const texts: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of its path is no folder',
  EACCES: 'this user may not',
  EPERM: 'this user may not',
  EISDIR: 'it is a folder',
  EEXIST: 'it exists already',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
};
