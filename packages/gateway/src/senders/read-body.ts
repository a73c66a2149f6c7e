// Raw bytes and headers → the body of an event. Any body is accepted: what is not JSON or a form is text.
import { isUtf8 } from 'node:buffer';
import { MIMEType, promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { hookLimits, type JsonObject, type JsonValue, limits } from '@tocsin/contract';
import { forbiddenKeys } from '../core/parse-body.ts';
import { Refusal } from '../core/refusal.ts';
import type { EventBody } from './event.ts';

type Headers = Readonly<Record<string, string | undefined>>;

const decompressors = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
} as const;

/** Form fields in which senders wrap a JSON object: GitHub and Slack, Discord, Uptime Kuma. */
const wrappingFields = ['payload', 'payload_json', 'data'];

export async function readEventBody(raw: Buffer, headers: Headers): Promise<EventBody> {
  const bytes = await decompress(raw, headers['content-encoding']);
  const type = mediaTypeOf(headers['content-type']);
  if (type?.essence === 'multipart/form-data') {
    const parts = await readMultipart(bytes, headers['content-type'] ?? '');
    if (parts !== null) return fromFields(parts.fields, parts.droppedFiles);
  }
  const text = decode(bytes, type?.params.get('charset') ?? null);
  const json = parseJson(text);
  if (json !== undefined) return { kind: 'json', value: json, text, droppedFiles: [] };
  if (type?.essence === 'application/x-www-form-urlencoded' && text.includes('=')) {
    return fromFields(toObject(new URLSearchParams(text)), [], text);
  }
  return { kind: 'text', value: text, text, droppedFiles: [] };
}

/** The parameters of a GET request, like the fields of a form. */
export function bodyOfQuery(query: URLSearchParams): EventBody {
  return fromFields(toObject(query), []);
}

async function decompress(raw: Buffer, encoding: string | undefined): Promise<Buffer> {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return raw;
  const decompressor = Object.hasOwn(decompressors, name) ? decompressors[name as keyof typeof decompressors] : null;
  if (decompressor === null) {
    const problem = `send gzip, deflate, br or no encoding`;
    throw new Refusal('unsupported_content_type', { details: [{ field: 'Content-Encoding', problem }] });
  }
  try {
    return await decompressor(raw, { maxOutputLength: hookLimits.requestBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw new Refusal('body_too_large');
    throw new Refusal('invalid_body', { details: [{ field: 'body', problem: `is not valid ${name} data` }] });
  }
}

function mediaTypeOf(contentType: string | undefined): MIMEType | null {
  try {
    return contentType === undefined ? null : new MIMEType(contentType);
  } catch {
    return null;
  }
}

/** null: the parts cannot be read, and the body is text. */
async function readMultipart(
  bytes: Buffer,
  contentType: string,
): Promise<{ fields: JsonObject; droppedFiles: string[] } | null> {
  try {
    const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType } }).formData();
    const texts: [string, string][] = [];
    const droppedFiles: string[] = [];
    for (const [name, value] of form) {
      if (typeof value === 'string') texts.push([name, value]);
      else droppedFiles.push(value.name);
    }
    return { fields: toObject(texts), droppedFiles };
  } catch {
    return null;
  }
}

function fromFields(fields: JsonObject, droppedFiles: readonly string[], sent?: string): EventBody {
  for (const name of wrappingFields) {
    const text = fields[name];
    if (typeof text !== 'string' || !text.trimStart().startsWith('{')) continue;
    const value = parseJson(text);
    if (value !== undefined) return { kind: 'json', value, text, droppedFiles };
  }
  const isEmpty = Object.keys(fields).length === 0;
  return { kind: 'form', value: fields, text: sent ?? (isEmpty ? '' : JSON.stringify(fields)), droppedFiles };
}

/** Repeated names: the last one wins. */
function toObject(pairs: Iterable<[string, string]>): JsonObject {
  const fields: JsonObject = {};
  for (const [name, value] of pairs) if (!forbiddenKeys.has(name)) fields[name] = value;
  return fields;
}

/** An object or array; undefined for any other text, and for JSON that is nested too deeply. */
function parseJson(text: string): JsonValue | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
  return clean(value, 1) ? value : undefined;
}

/** Drops the keys that could reach a prototype; false if the value is nested too deeply. */
function clean(value: JsonValue, depth: number): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (depth > limits.nestingDepth) return false;
  if (Array.isArray(value)) return value.every((item) => clean(item, depth + 1));
  for (const key in value) {
    if (forbiddenKeys.has(key)) delete value[key];
    else if (!clean(value[key] as JsonValue, depth + 1)) return false;
  }
  return true;
}

/** Without a charset: UTF-8 if the bytes are valid UTF-8, otherwise windows-1252, as browsers do. */
function decode(bytes: Buffer, charset: string | null): string {
  return decoderFor(charset ?? (isUtf8(bytes) ? 'utf-8' : 'windows-1252')).decode(bytes);
}

function decoderFor(charset: string): TextDecoder {
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder('windows-1252');
  }
}
