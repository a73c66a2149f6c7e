// Raw bytes and a content type → the top-level fields of the request, as an object without a prototype.
import { isUtf8 } from 'node:buffer';
import { MIMEType } from 'node:util';
import { type JsonObject, type JsonValue, limits } from '@tocsin/contract';
import { Refusal } from './refusal.ts';

export type BodyFormat = 'json' | 'form' | 'text';

/** Names through which a careless merge could reach a prototype; they are dropped at every level. */
export const forbiddenKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

export interface BodyHeaders {
  'content-type'?: string | undefined;
  'content-encoding'?: string | undefined;
  'transfer-encoding'?: string | undefined;
}

export function bodyFormat(headers: BodyHeaders): BodyFormat {
  checkCoding('Content-Encoding', headers['content-encoding'], 'identity');
  checkCoding('Transfer-Encoding', headers['transfer-encoding'], 'chunked');
  const contentType = headers['content-type'];
  if (contentType === 'application/json') return 'json';
  if (contentType === undefined || contentType.trim() === '') return 'text';
  const type = parseMediaType(contentType);
  const charset = type.params.get('charset');
  if (charset !== null && !meansUtf8(charset)) throw unsupported('Content-Type', 'the charset must be UTF-8');
  if (type.essence === 'application/json') return 'json';
  if (type.type === 'application' && type.subtype.endsWith('+json')) return 'json';
  if (type.essence === 'application/x-www-form-urlencoded') return 'form';
  if (type.essence === 'text/plain') return 'text';
  throw unsupported('Content-Type', 'send application/json, application/x-www-form-urlencoded or text/plain');
}

export function parseBody(format: BodyFormat, bytes: Buffer): JsonObject {
  if (!isUtf8(bytes)) throw invalid('body', 'is not valid UTF-8');
  const raw = bytes.toString('utf8');
  // A byte order mark is not part of the text (RFC 8259 section 8.1 lets a parser ignore it).
  const text = raw.charCodeAt(0) === 0xfeff ? raw.slice(1) : raw;
  if (text.trim() === '') throw emptyPayload();
  switch (format) {
    case 'json':
      return checkedFields(parseJson(text) ?? refuse('body', 'is not one valid JSON object'));
    case 'form':
      return checkedFields(parseJson(text) ?? parseForm(text));
    case 'text':
      return checkedFields(parseJson(text) ?? { body: text });
  }
}

export function emptyPayload(): Refusal {
  const problem = 'send at least one of title, body, message, category, severity, payload, data';
  return new Refusal('empty_payload', { details: [{ field: 'body', problem }] });
}

/** Parses a JSON object; undefined for any other text. */
export function parseJson(text: string): JsonObject | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return undefined;
  }
}

/** Drops the forbidden keys at every level, and refuses what is nested too deeply. */
export function cleanJson(value: JsonValue, depth = 1): void {
  if (value === null || typeof value !== 'object') return;
  if (depth > limits.nestingDepth) refuse('body', `is nested deeper than ${limits.nestingDepth} levels`);
  if (Array.isArray(value)) {
    for (const item of value) cleanJson(item, depth + 1);
    return;
  }
  for (const key of Object.keys(value)) {
    if (forbiddenKeys.has(key)) delete value[key];
    else cleanJson(value[key] as JsonValue, depth + 1);
  }
}

function checkedFields(parsed: JsonObject): JsonObject {
  if (Object.keys(parsed).length > limits.topLevelFields) {
    refuse('body', `has more than ${limits.topLevelFields} top-level fields`);
  }
  cleanJson(parsed);
  return Object.assign(Object.create(null), parsed);
}

function parseForm(text: string): JsonObject {
  const fields: JsonObject = Object.create(null);
  const names = new Set<string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decodeFormText(equals < 0 ? pair : pair.slice(0, equals));
    if (names.add(name).size > limits.topLevelFields) {
      refuse('body', `has more than ${limits.topLevelFields} top-level fields`);
    }
    fields[name] = equals < 0 ? '' : decodeFormText(pair.slice(equals + 1));
  }
  return fields;
}

/** As browsers decode it, a stray percent sign stays; only escapes that are no UTF-8 are refused. */
function decodeFormText(text: string): string {
  try {
    return text.replaceAll('+', ' ').replace(/(?:%[0-9A-Fa-f]{2})+/g, decodeURIComponent);
  } catch {
    return refuse('body', 'is not valid UTF-8');
  }
}

function checkCoding(name: string, value: string | undefined, harmless: string): void {
  const coding = value?.trim().toLowerCase() ?? '';
  if (coding !== '' && coding !== harmless) throw unsupported(name, 'send the body uncompressed');
}

function parseMediaType(contentType: string): MIMEType {
  try {
    return new MIMEType(contentType);
  } catch {
    throw unsupported('Content-Type', 'is not a media type');
  }
}

function meansUtf8(charset: string): boolean {
  try {
    return new TextDecoder(charset).encoding === 'utf-8';
  } catch {
    return false;
  }
}

function refuse(field: string, problem: string): never {
  throw invalid(field, problem);
}

function invalid(field: string, problem: string): Refusal {
  return new Refusal('invalid_body', { details: [{ field, problem }] });
}

function unsupported(field: string, problem: string): Refusal {
  return new Refusal('unsupported_content_type', { details: [{ field, problem }] });
}
