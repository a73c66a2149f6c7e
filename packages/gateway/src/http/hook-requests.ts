// Requests to the address of a hook: /in/<token>, and what follows it. A sender must not lose an event, and most repeat a
// request only after a 5xx: whatever may succeed later is a 503 with Retry-After.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorCode, hookLimits, hookPath } from '@tocsin/contract';
import { isHookToken } from '../core/hook-token.ts';
import { digestOf } from '../core/key-format.ts';
import { rateLimitKey } from '../core/rate-limit-key.ts';
import { Refusal } from '../core/refusal.ts';
import type { SenderRequest } from '../senders/event.ts';
import { signatureProblem } from '../senders/presets/index.ts';
import { bodyOfQuery, readEventBody } from '../senders/read-body.ts';
import type { Directory } from '../usecases/directory.ts';
import { acceptsToken } from '../usecases/hooks.ts';
import type { HookCredential, Received, Receiver } from '../usecases/receive-event.ts';
import { checkDeclaredLength, readBody } from './body.ts';
import { clientAddress, type Networks } from './client-address.ts';
import { markAuthenticated } from './connection-guard.ts';
import { expectsContinue } from './expects-continue.ts';
import type { OwnerQuota } from './owner-quota.ts';
import type { Limits } from './rate-limits.ts';
import { type Answer, toText } from './response.ts';

export interface HookRequestDeps {
  directory: Pick<Directory, 'findHook'>;
  receiver: Pick<Receiver, 'receive'>;
  limits: Limits;
  quota: Pick<OwnerQuota, 'reserve'>;
  trustedProxies: Networks;
  now: () => number;
}

export type ReceiveEvent = (
  request: IncomingMessage,
  response: ServerResponse,
  target: { path: string; query: URLSearchParams; requestId: string },
) => Promise<Answer>;

const headers = { 'Referrer-Policy': 'no-referrer' };

export function createReceiveEvent(deps: HookRequestDeps): ReceiveEvent {
  async function receive(
    request: IncomingMessage,
    response: ServerResponse,
    { path, query, requestId }: Parameters<ReceiveEvent>[2],
  ): Promise<Answer> {
    const [token = '', ...rest] = path.slice(hookPath.length).split('/');
    const hook = await findHook(request, token);
    const permission = permissionToSend(request, hook);
    if (permission !== null) return permission;
    checkMethod(request, hook);
    checkSubpath(rest.join('/'));
    checkDeclaredLength(request, hookLimits.requestBytes);
    markAuthenticated(request);
    if (expectsContinue(request)) response.writeContinue();
    const rawBody = await readBody(request, hookLimits.requestBytes);
    await deps.limits.countRequest(hook.hook);
    const headers = singleHeaders(request.headers);
    const sent: SenderRequest = {
      method: request.method ?? '',
      path: rest.join('/'),
      query,
      headers,
      body: request.method === 'GET' ? bodyOfQuery(query) : await readEventBody(rawBody, headers),
    };
    checkSignature(hook, sent, rawBody, deps.now());
    const release = await deps.quota.reserve(hook.hook.ownerId, rawBody.length);
    const received = await deps.receiver.receive(hook, sent, requestId).catch((error) => {
      release();
      throw error;
    });
    if (received.kind !== 'stored') release();
    return toAnswer(received, sent);
  }

  /** The same response for unknown, disabled and deleted hooks, so that it says nothing about them. */
  async function findHook(request: IncomingMessage, token: string): Promise<HookCredential> {
    if (!isHookToken(token)) throw notFound();
    const digest = digestOf(token);
    const address = rateLimitKey(clientAddress(request, deps.trustedProxies));
    if (!deps.limits.wasAcceptedLately(digest)) await deps.limits.checkFailures(address);
    const hook = await deps.directory.findHook(digest);
    if (hook === null || !acceptsToken(hook, digest, deps.now())) {
      await deps.limits.countFailure(address);
      throw notFound();
    }
    deps.limits.noteAccepted(digest);
    return { hook, token };
  }

  return async (request, response, target) => {
    try {
      const answer = await receive(request, response, target);
      return { ...answer, headers: { ...answer.headers, ...headers } };
    } catch (error) {
      throw toHookRefusal(error);
    }
  };
}

/**
 * The handshake of CloudEvents (HTTP 1.1 Web Hooks, section 4): a sender such as Azure Event Grid asks before it sends.
 * The token in the address is the permission. The callback address in such a request is never called. null: no handshake.
 */
function permissionToSend(
  { method, headers }: IncomingMessage,
  { hook: { rateLimit } }: HookCredential,
): Answer | null {
  const origin = headers['webhook-request-origin'];
  if (method !== 'OPTIONS' || typeof origin !== 'string') return null;
  const perMinute = rateLimit === null ? '*' : String(Math.ceil((rateLimit.requests * 60) / rateLimit.seconds));
  return {
    status: 200,
    headers: { Allow: 'POST, PUT', 'WebHook-Allowed-Origin': origin, 'WebHook-Allowed-Rate': perMinute },
  };
}

function checkMethod({ method }: IncomingMessage, { hook: { allowsGet } }: HookCredential): void {
  if (method === 'POST' || method === 'PUT' || (method === 'GET' && allowsGet)) return;
  throw new Refusal('method_not_allowed', { headers: { Allow: allowsGet ? 'GET, POST, PUT' : 'POST, PUT' } });
}

/** Prometheus takes the address of a hook for that of an Alertmanager, and would send every alert every minute. */
function checkSubpath(subpath: string): void {
  if (!/^api\/v[12]\/alerts$/.test(subpath)) return;
  const problem = 'Prometheus cannot send to a hook: make the address a webhook receiver of Alertmanager';
  throw new Refusal('not_found', { details: [{ field: 'path', problem }] });
}

function checkSignature({ hook }: HookCredential, request: SenderRequest, rawBody: Buffer, now: number): void {
  if (hook.secret === null) return;
  const problem = signatureProblem(hook.preset, { request, rawBody, secret: hook.secret, now });
  if (problem !== null) throw new Refusal('invalid_signature', { details: [{ field: 'signature', problem }] });
}

function toAnswer(received: Received, sent: SenderRequest): Answer {
  const own = received.preset?.respond?.(sent);
  if (own !== undefined) return own;
  const { kind } = received;
  if (kind === 'ignored') return { status: 200, body: toText({ ok: true, ignored: received.reason }) };
  const warnings = sent.body.droppedFiles.map((name) => `file_dropped:${name}`);
  const more = { ...(kind === 'repeated' && { repeated: true }), ...(warnings.length > 0 && { warnings }) };
  return { status: 200, body: toText({ ok: true, id: received.id, ...more }) };
}

/** What may succeed later. */
const temporary: ReadonlySet<ErrorCode> = new Set(['rate_limited', 'quota_exceeded', 'authentication_unavailable']);

function toHookRefusal(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error;
  const { code, details } = error;
  if (!temporary.has(code)) return new Refusal(code, { details, headers: { ...error.headers, ...headers } });
  const retryAfter = error.headers['Retry-After'] ?? '5';
  return new Refusal('service_unavailable', { details, headers: { ...headers, 'Retry-After': retryAfter } });
}

function notFound(): Refusal {
  return new Refusal('not_found', {
    details: [{ field: 'path', problem: 'there is no such hook, or it is disabled' }],
  });
}

function singleHeaders(all: IncomingHttpHeaders): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, value?.toString()]));
}
