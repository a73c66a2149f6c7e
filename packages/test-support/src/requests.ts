// Requests as callers send them. Every response is validated against the OpenAPI document of the service.
import assert from 'node:assert/strict';
import { type ErrorResponse, type SuccessResponse, sign } from '@tocsin/contract';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/** The members of successes and refusals: a test reads those that it expects. */
export type ResponseBody = Omit<SuccessResponse, 'ok'> &
  Pick<ErrorResponse, 'error' | 'code' | 'details'> & { ok: boolean };

export interface Answer<Body = ResponseBody> {
  status: number;
  headers: Headers;
  body: Body;
}

export interface Request {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** Appended to the address of the API. */
  path?: string;
}

export interface Caller {
  /** POST / with the key of the caller; JSON by default. */
  notify(body: unknown, headers?: Record<string, string>): Promise<Answer>;
  send<Body = ResponseBody>(request: Request): Promise<Answer<Body>>;
  withKey(key: string): Caller;
}

export async function createCaller(api: string, key: string): Promise<Caller> {
  const { body: document } = await send<OpenApi>(api, { path: '?format=openapi' });
  const check = createAnswerCheck(document);

  function callerWith(currentKey: string): Caller {
    const checked = async <Body>(request: Request): Promise<Answer<Body>> => {
      const answer = await send<Body>(api, request);
      check(request.method ?? 'GET', answer);
      return answer;
    };
    return {
      send: checked,
      notify: (body, headers) => checked(notification(currentKey, body, headers)),
      withKey: callerWith,
    };
  }
  return callerWith(key);
}

export function signedHeaders(key: string, body: string, at = Date.now()): Record<string, string> {
  return { 'X-Timestamp': String(at), 'X-Signature': sign(key, String(at), body) };
}

/** Sends one notification without validation by the OpenAPI document, for tests of other things. */
export function notify(
  target: { api: string; key: string },
  body: unknown,
  headers?: Record<string, string>,
): Promise<Answer> {
  return send(target.api, notification(target.key, body, headers));
}

function notification(key: string, body: unknown, headers: Record<string, string> = {}): Request {
  return {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  };
}

export async function send<Body = ResponseBody>(
  api: string,
  { path = '', ...request }: Request,
): Promise<Answer<Body>> {
  const response = await fetch(new URL(path, api), request as RequestInit);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: (text === '' ? null : JSON.parse(text)) as Body };
}

interface OpenApi {
  paths: { '/': Record<string, { responses: Record<string, { content?: Record<string, { schema: object }> }> }> };
  components: object;
}

/** Fails if the document does not describe the response for its method and status. */
function createAnswerCheck(document: OpenApi): (method: string, answer: Answer<unknown>) => void {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  const checks = new Map<string, ValidateFunction>();
  for (const [method, { responses }] of Object.entries(document.paths['/'])) {
    for (const [status, { content }] of Object.entries(responses)) {
      const schema = content?.['application/json']?.schema;
      if (schema) checks.set(`${method} ${status}`, ajv.compile({ ...schema, components: document.components }));
    }
  }
  return (method, { status, headers, body }) => {
    assert.equal(headers.get('access-control-allow-origin'), '*', 'every response has CORS headers');
    assert.match(headers.get('x-request-id') ?? '', /^req_/);
    if (body === null) return;
    // Methods that are refused have no operation of their own; POST describes every error.
    const validate = checks.get(`${method.toLowerCase()} ${status}`) ?? checks.get(`post ${status}`);
    assert.ok(validate, `the OpenAPI document has no response ${status} for ${method}`);
    assert.ok(validate(body), `${ajv.errorsText(validate.errors)} in ${JSON.stringify(body)}`);
  };
}
