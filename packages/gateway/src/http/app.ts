// The public API: the resource /, hooks, and the addresses of dialects. It handles requests and does not listen; `main.ts` opens the listener.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type ErrorCode, type NormalizedRequest, openApiDocument } from '@tocsin/contract';
import { type BodyFormat, bodyFormat } from '../core/parse-body.ts';
import { rateLimitKey } from '../core/rate-limit-key.ts';
import { Refusal } from '../core/refusal.ts';
import type { Accepted, AcceptRequest } from '../usecases/accept.ts';
import { type Authenticator, type Credentials, checkSigned, type Identified, identify } from './authenticate.ts';
import { ClientGone, checkDeclaredLength, dropBody, readBody } from './body.ts';
import { clientAddress, type Networks } from './client-address.ts';
import { markAuthenticated } from './connection-guard.ts';
import { preflightHeaders, responseHeaders } from './cors.ts';
import { toRefusal } from './errors.ts';
import { isEventAddress, type ReceiveEvent } from './event-requests.ts';
import { expectsContinue } from './expects-continue.ts';
import { readIdempotencyKey } from './idempotency-key.ts';
import { endpointMetadata } from './metadata.ts';
import type { OwnerQuota } from './owner-quota.ts';
import { type Answer, acceptedAnswer, refusalAnswer, toText } from './response.ts';
import { type IdempotencyDeps, withIdempotency } from './with-idempotency.ts';

export interface AppParts extends IdempotencyDeps {
  authenticator: Authenticator;
  /** Absent: no limit. */
  quota?: OwnerQuota;
  parser: RequestParser;
  trustedProxies: Networks;
  maxBodyBytes: number;
  version: string;
  /** Handles requests to the addresses of hooks and dialects. */
  receiveEvent: ReceiveEvent;
  /** Names of all channels. */
  channels: readonly string[];
  /** Headers that TLS adds to every response. */
  transportHeaders?: Record<string, string>;
  newRequestId: () => string;
  log: RequestLog;
}

/** Returns a promise for a body that it parses outside of the main thread. */
export interface RequestParser {
  request(format: BodyFormat, body: Buffer): NormalizedRequest | Promise<NormalizedRequest>;
}

export interface RequestLog {
  answered(line: {
    requestId: string;
    method: string;
    status: number;
    code?: ErrorCode;
    ms: number;
    /** Address of the client, for refused requests. */
    address?: string;
  }): void;
  failed(line: { requestId: string; error: unknown }): void;
}

/** State of a request before its response; the headers are added to every response. */
interface Context {
  requestId: string;
  headers: Record<string, string>;
}

const noQuery = new URLSearchParams();
const allowedMethods = 'GET, HEAD, POST, OPTIONS';

export function createApp(parts: AppParts): RequestListener {
  const commonHeaders = Object.entries({ ...responseHeaders, ...parts.transportHeaders }).flat();
  const metadata = toText(endpointMetadata(parts.version, parts.maxBodyBytes, parts.channels));
  const openApi = toText(openApiDocument(parts.version));

  function route(request: IncomingMessage, response: ServerResponse, context: Context): Answer | Promise<Answer> {
    checkHost(request);
    const { path, query } = splitTarget(request.url ?? '/');
    if (path !== '/' && isEventAddress(request.method, path))
      return parts.receiveEvent(request, response, { path, query, requestId: context.requestId });
    if (path !== '/')
      throw new Refusal('not_found', { details: [{ field: 'path', problem: 'the only resource is /' }] });
    switch (request.method) {
      case 'POST':
        return notify(request, response, context);
      case 'GET':
      case 'HEAD':
        return { status: 200, body: query.get('format') === 'openapi' ? openApi : metadata };
      case 'OPTIONS':
        return { status: 204, headers: { ...preflightHeaders, Allow: allowedMethods } };
      default:
        throw new Refusal('method_not_allowed', { headers: { Allow: allowedMethods } });
    }
  }

  /** The order of these steps is the order in which a request is refused. */
  async function notify(request: IncomingMessage, response: ServerResponse, context: Context): Promise<Answer> {
    const { headers } = request;
    checkDeclaredLength(request, parts.maxBodyBytes);
    const credentials = { headers, rateLimitKey: () => rateLimitKey(clientAddress(request, parts.trustedProxies)) };
    const identified = await identifyFirst(request, credentials);
    const { key } = identified;
    markAuthenticated(request);
    // 100 Continue is sent only if the body may be accepted.
    if (expectsContinue(request)) response.writeContinue();
    const rawBody = await readBody(request, parts.maxBodyBytes);
    await checkSigned(parts.authenticator, credentials, identified, rawBody);
    context.headers = await parts.authenticator.limits.countRequest(key);
    const format = bodyFormat(headers);
    const parsed = parts.parser.request(format, rawBody);
    const accepting: AcceptRequest = {
      ownerId: key.ownerId,
      requestId: context.requestId,
      request: parsed instanceof Promise ? await parsed : parsed,
      idempotency: readIdempotencyKey(headers, { format, raw: rawBody }, parts.now()),
    };
    const accept = parts.quota?.around(parts.accept, rawBody.length) ?? parts.accept;
    if (accepting.idempotency !== null) return withIdempotency({ ...parts, accept }, accepting, accepting.idempotency);
    // Without an idempotency key there are no duplicates.
    return acceptedAnswer(accepting, (await accept(accepting)) as Accepted, parts.now());
  }

  /** The body of a request without a valid key is not buffered. */
  async function identifyFirst(request: IncomingMessage, credentials: Credentials): Promise<Identified> {
    try {
      return await identify(parts.authenticator, credentials);
    } catch (error) {
      // Without a Content-Length the size is known only at the end, and body_too_large takes precedence.
      const isUnmeasured = request.headers['transfer-encoding'] !== undefined && !expectsContinue(request);
      if (isUnmeasured) await dropBody(request, parts.maxBodyBytes);
      throw error;
    }
  }

  return async (request, response) => {
    const startedAt = performance.now();
    const context: Context = { requestId: parts.newRequestId(), headers: {} };
    const { requestId } = context;
    const finish = (answer: Answer): void => {
      send(request, response, [...commonHeaders, 'X-Request-Id', requestId], context.headers, answer);
      const { status, code } = answer;
      const outcome = { requestId, method: request.method ?? '', status };
      const refused = code !== undefined && { code, address: clientAddress(request, parts.trustedProxies) };
      parts.log.answered({ ...outcome, ...refused, ms: performance.now() - startedAt });
    };
    try {
      finish(await route(request, response, context));
    } catch (error) {
      if (error instanceof ClientGone) return;
      const refusal = toRefusal(error);
      if (refusal.code === 'internal') parts.log.failed({ requestId, error });
      finish(refusalAnswer(refusal, requestId, parts.now()));
    }
  };
}

/** RFC 9112 section 3.2: exactly one, except from a client of HTTP/1.0. Node joins several with a comma. */
function checkHost({ httpVersion, headers: { host } }: IncomingMessage): void {
  const isMissing = host === undefined && httpVersion !== '1.0';
  if (!isMissing && !host?.includes(',')) return;
  const problem = isMissing ? 'is missing' : 'was sent twice';
  throw new Refusal('invalid_body', { details: [{ field: 'Host', problem }] });
}

/** The path as sent, not normalized: /. and // are other resources than /. A proxy may send the absolute form. */
function splitTarget(target: string): { path: string; query: URLSearchParams } {
  if (target === '/') return { path: '/', query: noQuery };
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/?]*)?([^?]*)\??(.*)$/is.exec(target) ?? [];
  return { path: path || '/', query: new URLSearchParams(query) };
}

/** One flat list: merging header objects for every response would cost more than authenticating the request. */
function send(
  request: IncomingMessage,
  response: ServerResponse,
  list: string[],
  more: Record<string, string>,
  { status, headers = {}, body, contentType = 'application/json' }: Answer,
): void {
  if (body !== undefined) list.push('Content-Type', contentType, 'Content-Length', String(Buffer.byteLength(body)));
  for (const name in more) list.push(name, more[name] as string);
  for (const name in headers) list.push(name, headers[name] as string);
  // The rest of a body that will not be read is not waited for.
  if ((status === 404 || status === 405) && !request.complete) response.shouldKeepAlive = false;
  response.writeHead(status, list);
  response.end(request.method === 'HEAD' ? undefined : body);
}
