// The built inbox app in memory: every file by its path, with its headers. Only files of the map are served.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';

export type Encoding = 'br' | 'gzip' | 'identity';

export interface WebAppFile {
  type: string;
  /** Weak, because it is the same for every encoding. */
  etag: string;
  cacheControl: string;
  /** Compressed at the first request and cached. */
  encoded(encoding: Encoding): Promise<Buffer>;
  isCompressible: boolean;
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

const compress = { br: promisify(brotliCompress), gzip: promisify(gzip) };

/** null: the app has not been built. */
export function readWebApp(folder: string): Map<string, WebAppFile> | null {
  const names = globSync('**', { cwd: folder }).filter((name) => extname(name) in types);
  const files = new Map(names.map((name) => [`/${name.replaceAll(sep, '/')}`, readFile(folder, name)]));
  return files.has('/index.html') ? files : null;
}

function readFile(folder: string, name: string): WebAppFile {
  const content = readFileSync(join(folder, name));
  const type = types[extname(name)] as string;
  const cached: Partial<Record<Encoding, Promise<Buffer>>> = { identity: Promise.resolve(content) };
  return {
    type,
    etag: `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`,
    // Vite writes the hash of the content into every name below assets/.
    cacheControl: name.startsWith(`assets${sep}`) ? 'public, max-age=31536000, immutable' : 'no-cache',
    encoded: (encoding) => {
      cached[encoding] ??= encoding === 'identity' ? Promise.resolve(content) : compress[encoding](content);
      return cached[encoding];
    },
    isCompressible: type !== 'image/png',
  };
}
