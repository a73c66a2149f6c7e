/** Describes a file system error without naming the system call. */
export function describeFileError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (isTooManyFiles(error)) return tooManyFiles.replace('This', 'this').replace(/\.$/, '');
  return (code === undefined ? undefined : texts[code]) ?? message;
}

export const tooManyFiles =
  'Too many open files. Raise the limit: LimitNOFILE= in a systemd unit, ulimit -n in a shell, ' +
  '--ulimit nofile= for a container.';

/** Recognizes the limit on file descriptors: when opening a file or socket, loading a module or starting a thread. */
export function isTooManyFiles(error: unknown): boolean {
  const { code = '', message = '' } = error as NodeJS.ErrnoException;
  return ['EMFILE', 'ENFILE'].includes(code) || /\bE[MN]FILE\b|too many open files/.test(message);
}

const texts: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'a path component is not a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory',
  EEXIST: 'it already exists',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
};
