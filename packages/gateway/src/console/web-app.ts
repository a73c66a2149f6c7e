// Serves the inbox app: its files, and its one page for every path that is not a file.
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Encoding, readWebApp, type WebAppFile } from './web-app-files.ts';

export interface WebAppOptions {
  /** The public API as this browser reaches it: pages may send requests to it. */
  apiUrl: (request: FastifyRequest) => string;
  /** The folder of the build. */
  folder?: string;
}

/** Beside this file in the build; the sources have none. */
const builtFolder = fileURLToPath(new URL('./web-app/', import.meta.url));

/** Paths for programs, which get no page. */
const notPages = /^\/(?:api|healthz|readyz|metrics|mqtt|assets)(?:\/|$)/;
/** A path such as /robots.txt is that of a file. */
const fileName = /\.[^/]*$/;

const headers = {
  'x-content-type-options': 'nosniff',
  // The paths of the console, some with ids of notifications, are not sent to other sites.
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'x-frame-options': 'DENY',
};

/** Handles every path without a route, and responds with 404 if it is not one of the app. */
export function addWebApp(app: FastifyInstance, { apiUrl, folder = builtFolder }: WebAppOptions): void {
  let files = readWebApp(folder);

  app.setNotFoundHandler(async (request, reply) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return sendNotFound(reply);
    const path = request.url.replace(/\?.*$/s, '');
    const isPage = !notPages.test(path) && !fileName.test(path);
    files ??= readWebApp(folder);
    const file = files?.get(path) ?? (isPage ? files?.get('/index.html') : undefined);
    if (file !== undefined) return sendFile(request, reply, file);
    if (files !== null || !isPage) return sendNotFound(reply);
    return reply
      .code(503)
      .type('text/plain; charset=utf-8')
      .send('The inbox app has not been built. Run "npm run build" in the folder of Tocsin, then reload this page.\n');
  });

  async function sendFile(request: FastifyRequest, reply: FastifyReply, file: WebAppFile): Promise<FastifyReply> {
    reply.headers({
      ...headers,
      'content-security-policy': contentSecurityPolicy(new URL(apiUrl(request)).origin),
      'cache-control': file.cacheControl,
      etag: file.etag,
      vary: 'accept-encoding',
    });
    if (isKnown(request.headers['if-none-match'], file.etag)) return reply.code(304).send();
    const encoding = file.isCompressible ? bestEncoding(request.headers['accept-encoding']) : 'identity';
    if (encoding !== 'identity') reply.header('content-encoding', encoding);
    return reply
      .code(200)
      .type(file.type)
      .send(await file.encoded(encoding));
  }
}

function sendNotFound(reply: FastifyReply): FastifyReply {
  return reply.code(404).send({ ok: false, error: 'Not found', links: ['/', '/healthz', '/readyz', '/metrics'] });
}

function contentSecurityPolicy(apiOrigin: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'none'",
    `connect-src 'self' ${apiOrigin}`,
    "manifest-src 'self'",
    "worker-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types tocsin',
  ].join('; ');
}

function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = (ifNoneMatch ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''));
  return known.includes(etag.replace(/^W\//, ''));
}

function bestEncoding(acceptEncoding: string | string[] | undefined): Encoding {
  const accepted = new Set(
    String(acceptEncoding ?? '')
      .toLowerCase()
      .split(',')
      .filter((each) => !/;\s*q=0(?:\.0*)?\s*$/.test(each))
      .map((each) => each.replace(/;.*$/s, '').trim()),
  );
  if (accepted.has('br')) return 'br';
  return accepted.has('gzip') ? 'gzip' : 'identity';
}
