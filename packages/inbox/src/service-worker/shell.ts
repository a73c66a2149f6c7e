// Serves the app offline: its files are cached, and index.html is the fallback for every page that fails to load.
import { apiPrefix } from '@tocsin/contract/console/route';
import { worker } from './worker.ts';

/** Injected by the build: the files of the app and a hash of their contents. */
declare const __SHELL__: { version: string; files: string[] };

const prefix = 'tocsin-shell-';
const cacheName = prefix + __SHELL__.version;
const page = '/index.html';
const files = new Set(__SHELL__.files);
/** Longer than a slow mobile network needs, shorter than people are willing to wait. */
const pageTimeoutMs = 4000;

export async function cacheShell(): Promise<void> {
  const cache = await caches.open(cacheName);
  // Files with a hash in their name never change; the others bypass the HTTP cache.
  const requests = __SHELL__.files.map((file) =>
    file.startsWith('/assets/') ? file : new Request(file, { cache: 'no-cache' }),
  );
  await cache.addAll(requests);
}

/** Keeps the previous version, because windows that are still open may request further files of it. */
export async function deleteOldShells(): Promise<void> {
  const others = (await caches.keys()).filter((name) => name.startsWith(prefix) && name !== cacheName);
  await Promise.all(others.slice(0, -1).map((name) => caches.delete(name)));
}

/** Returns null for requests that go to the network untouched, among them all requests to the API. */
export function responseTo(request: Request): Promise<Response> | null {
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== worker.location.origin) return null;
  if (request.mode === 'navigate') return isApi(pathname) ? null : fetchPage(request);
  return files.has(pathname) || pathname.startsWith('/assets/') ? fetchFile(request) : null;
}

/** Browsers navigate to API paths during OpenID Connect sign-in. */
function isApi(pathname: string): boolean {
  return pathname.startsWith(`${apiPrefix}/`);
}

async function fetchPage(request: Request): Promise<Response> {
  const cached = await caches.match(page, { cacheName });
  if (cached === undefined) return fetch(request);
  try {
    const response = await withTimeout(fetch(request), pageTimeoutMs);
    return response.status >= 500 ? cached : response;
  } catch {
    return cached;
  }
}

/** Prefers this version, then the previous one for windows that still run it. */
async function fetchFile(request: Request): Promise<Response> {
  const options = { ignoreVary: true };
  const cached = await caches.match(request.url, { ...options, cacheName });
  return cached ?? (await caches.match(request.url, options)) ?? fetch(request);
}

async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  const timeout = Promise.withResolvers<T>();
  const timer = setTimeout(timeout.reject, ms, new Error('timed out'));
  try {
    return await Promise.race([work, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
