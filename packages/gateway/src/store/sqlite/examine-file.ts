// Checks the pages of a database file for damage while a server uses it. In a process of its own, since it takes long for a
// large file, must block neither reads nor writes, and can be killed at any time.
import { execFile } from 'node:child_process';

const script = `
const { DatabaseSync } = require('node:sqlite');
try {
  require('node:os').setPriority(19);
  const db = new DatabaseSync(process.argv[1], { readOnly: true, timeout: 5000 });
  for (const row of db.prepare('PRAGMA quick_check(20)').iterate()) console.log(String(Object.values(row)[0]));
} catch (error) {
  // CORRUPT, NOTADB, and errors of reading the file. Others, as of a full disk, say nothing about its pages.
  if ([11, 26].includes(error.errcode & 255) || [266, 522, 8458].includes(error.errcode)) console.log(error.message);
}`;

/** Resolves with the damage found; empty if there is none, or if the signal aborted the check. */
export function examineFile(file: string, signal: AbortSignal): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const args = ['--no-warnings', '-e', script, file];
    execFile(process.execPath, args, { signal, killSignal: 'SIGKILL', env: {} }, (error, stdout) => {
      if (error !== null && !signal.aborted) reject(error);
      else resolve(signal.aborted ? [] : stdout.split('\n').filter((line) => line !== '' && line !== 'ok'));
    });
  });
}
