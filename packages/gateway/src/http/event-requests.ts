// Requests of other programs: to a hook (/in/<token>, and what follows it), and to the addresses of dialects, with a key.
// A sender must not lose an event, and most repeat a request only after a 5xx: below a hook, whatever may succeed later is
// a 503 with Retry-After.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { defaults, type ErrorCode, errors, hookLimits, hookPath, hookPrefix } from '@tocsin/contract';
import { isHookToken } from '../core/hook-token.ts';
import { digestOf } from '../core/key-format.ts';
import { rateLimitKey } from '../core/rate-limit-key.ts';
import { Refusal } from '../core/refusal.ts';
import { dialectAt } from '../senders/dialects/index.ts';
import type { Dialect, Preset, SenderRequest } from '../senders/event.ts';
import { choosePreset, signatureProblem } from '../senders/presets/index.ts';
import { bodyOfQuery, readEventBody } from '../senders/read-body.ts';
import { acceptsToken } from '../usecases/hooks.ts';
import type { Hook, LimitedCredential } from '../usecases/ports/index.ts';
import type { Received, Receiver, SenderCredential } from '../usecases/receive-event.ts';
import { type Authenticator, checkSigned, identify } from './authenticate.ts';
import { checkDeclaredLength, readBody } from './body.ts';
import { clientAddress, type Networks } from './client-address.ts';
import { markAuthenticated } from './connection-guard.ts';
import { expectsContinue } from './expects-continue.ts';
import type { OwnerQuota } from './owner-quota.ts';
import { type Answer, toText } from './response.ts';

export interface EventRequestDeps {
  authenticator: Authenticator;
  receiver: Pick<Receiver, 'receive'>;
  quota: Pick<OwnerQuota, 'reserve'>;
  trustedProxies: Networks;
  version: string;
}

export type ReceiveEvent = (
  request: IncomingMessage,
  response: ServerResponse,
  target: { path: string; query: URLSearchParams; requestId: string },
) => Promise<Answer>;

/** Where a request is sent to. */
interface Place {
  /** The token of a hook; null: the address of a dialect, with a key. */
  token: string | null;
  /** What follows the token, or the first slash. */
  path: string;
}

/** A hook or key that may send events. */
interface Authenticated extends SenderCredential {
  limited: LimitedCredential;
  allowsGet: boolean;
  /** Refuses a request that is not signed as the hook or key requires. */
  checkSignature(request: SenderRequest, rawBody: Buffer): void | Promise<void>;
}

const responseHeaders = { 'Referrer-Policy': 'no-referrer' };

export function isEventAddress(method = '', path: string): boolean {
  return path.startsWith(hookPath) || dialectOf(method, placeOf(path)) !== null;
}

export function createReceiveEvent(deps: EventRequestDeps): ReceiveEvent {
  const { authenticator, receiver, quota, trustedProxies, version } = deps;
  const { directory, limits, now } = authenticator;

  async function receive(
    request: IncomingMessage,
    response: ServerResponse,
    { query, requestId }: Parameters<ReceiveEvent>[2],
    { path, token }: Place,
    route: { preset: Preset | null; dialect: Dialect | null },
  ): Promise<Answer> {
    const { dialect } = route;
    const isGet = request.method === 'GET' || request.method === 'HEAD';
    const status = isGet ? dialect?.status?.(path, version) : null;
    if (status && token === null) return ok(status);
    const sender = token === null ? await findKey(request, query, dialect) : await findHook(request, token);
    const account = status ?? (isGet ? dialect?.account?.(path, sender.sender.name) : null);
    if (account) return ok(account);
    const permission = token === null ? null : permissionToSend(request, sender);
    if (permission !== null) return permission;
    checkMethod(request, sender);
    checkSubpath(path);
    checkDeclaredLength(request, hookLimits.requestBytes);
    markAuthenticated(request);
    if (expectsContinue(request)) response.writeContinue();
    const rawBody = await readBody(request, hookLimits.requestBytes);
    await limits.countRequest(sender.limited);
    const headers = singleHeaders(request.headers);
    const sent: SenderRequest = {
      method: request.method ?? '',
      path,
      query,
      headers,
      body: request.method === 'GET' ? bodyOfQuery(query) : await readEventBody(rawBody, headers),
    };
    await sender.checkSignature(sent, rawBody);
    const preset = choosePreset(sender.sender.preset, sent);
    route.preset = preset;
    const release = await quota.reserve(sender.sender.ownerId, rawBody.length);
    const received = await receiver.receive(sender, { request: sent, preset, requestId }).catch((error) => {
      release();
      throw error;
    });
    if (received.kind !== 'stored') release();
    return toAnswer(received, preset, sent, now());
  }

  /** The same response for unknown, disabled and deleted hooks, so that it says nothing about them. */
  async function findHook(request: IncomingMessage, token: string): Promise<Authenticated> {
    if (!isHookToken(token)) throw notFound();
    const digest = digestOf(token);
    const address = addressOf(request);
    if (!limits.wasAcceptedLately(digest)) await limits.checkFailures(address);
    const hook = await directory.findHook(digest);
    if (hook === null || !acceptsToken(hook, digest, now())) {
      await limits.countFailure(address);
      throw notFound();
    }
    limits.noteAccepted(digest);
    const { allowsGet } = hook;
    return {
      sender: hook,
      token,
      limited: hook,
      allowsGet,
      checkSignature: (sent, rawBody) => checkHookSignature(hook, sent, rawBody, now()),
    };
  }

  /** Link previews call addresses with GET, so only a hook can allow it. */
  async function findKey(
    request: IncomingMessage,
    query: URLSearchParams,
    dialect: Dialect | null,
  ): Promise<Authenticated> {
    const credentials = { headers: request.headers, query, rateLimitKey: () => addressOf(request) };
    const identified = await identify(authenticator, credentials);
    const { key, value } = identified;
    const { id, ownerId, label } = key;
    return {
      sender: {
        ...{ id, ownerId, name: label ?? defaults.source, preset: dialect?.name ?? '' },
        ...{ severity: null, disabledChannels: [], repeatSeconds: 0 },
      },
      token: value,
      limited: key,
      allowsGet: false,
      checkSignature: (_, rawBody) => checkSigned(authenticator, credentials, identified, rawBody),
    };
  }

  function addressOf(request: IncomingMessage): string {
    return rateLimitKey(clientAddress(request, trustedProxies));
  }

  return async (request, response, target) => {
    const place = placeOf(target.path, request.headers);
    const dialect = dialectOf(request.method ?? '', place);
    const route = { dialect, preset: dialect };
    try {
      const answer = await receive(request, response, target, place, route);
      return { ...answer, headers: { ...answer.headers, ...responseHeaders } };
    } catch (error) {
      const refusal = toSenderRefusal(error, place.token === null);
      const { preset } = route;
      if (!(refusal instanceof Refusal) || !isDialect(preset)) throw refusal;
      return refusedAnswer(refusal, preset);
    }
  };
}

function placeOf(path: string, headers: IncomingHttpHeaders = {}): Place {
  // Clients of the Apprise API have no other place for the token: the path, or since version 2 of the API a header.
  const [isNotify, inPath] = /^\/notify(?:\/([^/]*))?\/?$/.exec(path) ?? [];
  const config = isNotify === undefined ? '' : inPath || String(headers['x-apprise-config-id']);
  if (config.startsWith(hookPrefix)) return { token: config, path: 'notify' };
  if (!path.startsWith(hookPath)) return { token: null, path: path.slice(1) };
  const [token = '', ...rest] = path.slice(hookPath.length).split('/');
  // Some clients add a slash to an address that ends with one.
  return { token, path: rest.join('/').replace(/^\/+/, '') };
}

function dialectOf(method: string, { token, path }: Place): Dialect | null {
  return dialectAt({ method, path, isRoot: token === null });
}

function isDialect(preset: Preset | null): preset is Dialect {
  return preset !== null && 'refuse' in preset;
}

/**
 * The handshake of CloudEvents (HTTP 1.1 Web Hooks, section 4): a sender such as Azure Event Grid asks before it sends.
 * The token in the address is the permission. The callback address in such a request is never called. null: no handshake.
 */
function permissionToSend(
  { method, headers }: IncomingMessage,
  { limited: { rateLimit } }: Authenticated,
): Answer | null {
  const origin = headers['webhook-request-origin'];
  if (method !== 'OPTIONS' || typeof origin !== 'string') return null;
  const perMinute = rateLimit === null ? '*' : String(Math.ceil((rateLimit.requests * 60) / rateLimit.seconds));
  return {
    status: 200,
    headers: { Allow: 'POST, PUT', 'WebHook-Allowed-Origin': origin, 'WebHook-Allowed-Rate': perMinute },
  };
}

function checkMethod({ method }: IncomingMessage, { allowsGet }: Authenticated): void {
  if (method === 'POST' || method === 'PUT' || (method === 'GET' && allowsGet)) return;
  throw new Refusal('method_not_allowed', { headers: { Allow: allowsGet ? 'GET, POST, PUT' : 'POST, PUT' } });
}

/** Prometheus takes the address of a hook for that of an Alertmanager, and would send every alert every minute. */
function checkSubpath(subpath: string): void {
  if (!/^api\/v[12]\/alerts$/.test(subpath)) return;
  const problem = 'Prometheus cannot send to a hook: make the address a webhook receiver of Alertmanager';
  throw new Refusal('not_found', { details: [{ field: 'path', problem }] });
}

function checkHookSignature(hook: Hook, request: SenderRequest, rawBody: Buffer, now: number): void {
  if (hook.secret === null) return;
  const problem = signatureProblem(hook.preset, { request, rawBody, secret: hook.secret, now });
  if (problem !== null) throw new Refusal('invalid_signature', { details: [{ field: 'signature', problem }] });
}

function ok(body: object): Answer {
  return { status: 200, body: toText(body) };
}

function toAnswer(received: Received, preset: Preset | null, sent: SenderRequest, now: number): Answer {
  const own = preset?.respond?.(sent);
  if (own !== undefined) return own;
  if (received.kind === 'ignored') return ok({ ok: true, ignored: received.reason });
  const { kind, id, event } = received;
  if (isDialect(preset)) return { status: 200, body: preset.confirm({ id, now, event }) };
  const warnings = sent.body.droppedFiles.map((name) => `file_dropped:${name}`);
  const more = { ...(kind === 'repeated' && { repeated: true }), ...(warnings.length > 0 && { warnings }) };
  return ok({ ok: true, id, ...more });
}

function refusedAnswer({ code, message, details, headers }: Refusal, dialect: Dialect): Answer {
  const { status } = errors[code];
  const [first] = details;
  const text = first === undefined ? message : `${message}: ${first.field}: ${first.problem}`;
  return { status, headers, code, body: dialect.refuse({ status, code, text, field: first?.field }) };
}

/** What may succeed later. */
const temporary: ReadonlySet<ErrorCode> = new Set(['rate_limited', 'quota_exceeded', 'authentication_unavailable']);

/** Programs with a key know 429; that the store did not respond says nothing about their key. */
function toSenderRefusal(error: unknown, hasKey: boolean): unknown {
  if (!(error instanceof Refusal)) return error;
  const { code, details } = error;
  const isTemporary = hasKey ? code === 'authentication_unavailable' : temporary.has(code);
  if (!isTemporary) return new Refusal(code, { details, headers: { ...error.headers, ...responseHeaders } });
  const retryAfter = error.headers['Retry-After'] ?? '5';
  return new Refusal('service_unavailable', { details, headers: { ...responseHeaders, 'Retry-After': retryAfter } });
}

function notFound(): Refusal {
  return new Refusal('not_found', {
    details: [{ field: 'path', problem: 'there is no such hook, or it is disabled' }],
  });
}

function singleHeaders(all: IncomingHttpHeaders): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, value?.toString()]));
}
