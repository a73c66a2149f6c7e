// The app without the network: its files are kept, and its page stands in for every page that does not come.
import { worker } from './worker.ts';

/** Written by the build: the files of the app, and a hash over their contents. */
declare const __SHELL__: { version: string; files: string[] };

const prefix = 'tocsin-shell-';
const cacheName = prefix + __SHELL__.version;
const page = '/index.html';
const files = new Set(__SHELL__.files);
/** Longer than a slow phone network needs, shorter than people wait. */
const patienceMs = 4000;

export async function keepShell(): Promise<void> {
  const cache = await caches.open(cacheName);
  // Names with a hash never change; the others are asked for anew.
  const requests = __SHELL__.files.map((file) =>
    file.startsWith('/assets/') ? file : new Request(file, { cache: 'no-cache' }),
  );
  await cache.addAll(requests);
}

/** The version before stays for windows that are still open: they may yet ask for parts of it. */
export async function dropOldShells(): Promise<void> {
  const others = (await caches.keys()).filter((name) => name.startsWith(prefix) && name !== cacheName);
  await Promise.all(others.slice(0, -1).map((name) => caches.delete(name)));
}

/** null: not ours to answer, and never what the API says. */
export function answer(request: Request): Promise<Response> | null {
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== worker.location.origin) return null;
  if (request.mode === 'navigate') return isApi(pathname) ? null : fetchPage(request);
  return files.has(pathname) || pathname.startsWith('/assets/') ? fetchFile(request) : null;
}

/** Ways through the API that a browser navigates: OpenID Connect. */
function isApi(pathname: string): boolean {
  return pathname.startsWith('/api/');
}

async function fetchPage(request: Request): Promise<Response> {
  const kept = await caches.match(page, { cacheName });
  if (kept === undefined) return fetch(request);
  try {
    const response = await within(fetch(request), patienceMs);
    return response.status >= 500 ? kept : response;
  } catch {
    return kept;
  }
}

/** Of this version, or of one before, for windows that are still of that. */
async function fetchFile(request: Request): Promise<Response> {
  const options = { ignoreVary: true };
  const kept = await caches.match(request.url, { ...options, cacheName });
  return kept ?? (await caches.match(request.url, options)) ?? fetch(request);
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<T>();
  const timer = setTimeout(late.reject, ms, new Error('late'));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
