// A copy of the project whose sources and builds a test can change. The installed packages are those of the project.
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('../../../', import.meta.url));
const copied = ['LICENSE', 'package.json', 'package-lock.json', 'tsconfig.json', 'scripts', 'packages'];
const notCopied = new Set(['dist', 'node_modules', 'test']);

export interface Clone {
  folder: string;
  remove(): void;
}

export function copyProject(): Clone {
  const folder = mkdtempSync(join(tmpdir(), 'tocsin-clone-'));
  for (const path of copied) {
    const filter = (source: string): boolean => !notCopied.has(basename(source));
    cpSync(join(project, path), join(folder, path), { recursive: true, filter });
  }
  linkPackages(join(project, 'node_modules'), join(folder, 'node_modules'));
  // The stamp of scripts/setup.mjs: nothing has to be installed.
  const lock = readFileSync(join(folder, 'package-lock.json'));
  writeFileSync(join(folder, 'node_modules/.tocsin-setup'), createHash('sha256').update(lock).digest('hex'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** All packages except those of the project, which the copy has itself. */
function linkPackages(installed: string, target: string): void {
  mkdirSync(join(target, '@tocsin'), { recursive: true });
  symlinkSync('../../packages/contract', join(target, '@tocsin/contract'));
  for (const name of readdirSync(installed)) {
    if (name === '@tocsin' || name === 'tocsin' || (name.startsWith('.') && name !== '.bin')) continue;
    symlinkSync(join(installed, name), join(target, name));
  }
}
