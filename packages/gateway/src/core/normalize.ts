// Request fields (docs/callers.md#fields) → normalized notification. Pure; reports all problems at once.
import {
  aliases,
  type Category,
  categories,
  categorySynonyms,
  controlFields,
  defaults,
  type ErrorDetail,
  type JsonObject,
  type JsonValue,
  limits,
  type NormalizedRequest,
  type Qos,
  qosLevels,
  type Severity,
  severities,
  severitySynonyms,
} from '@tocsin/contract';
import { isAbsent } from './absent.ts';
import type { AddressPolicy } from './address-policy.ts';
import { readCustomBroker } from './custom-broker.ts';
import { cleanJson, emptyPayload, parseJson } from './parse-body.ts';
import { Refusal } from './refusal.ts';

const booleanWords: ReadonlyMap<JsonValue, boolean> = new Map<JsonValue, boolean>([
  [true, true],
  [false, false],
  [1, true],
  [0, false],
  ...['true', '1', 'yes', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off'].map((word) => [word, false] as const),
]);

const aliasNames = Object.keys(aliases) as (keyof typeof aliases)[];
const controlNames: ReadonlySet<string> = new Set(controlFields);

export function normalize(fields: JsonObject, addressPolicy: AddressPolicy): NormalizedRequest {
  const problems: ErrorDetail[] = [];
  const used = new Set<string>();
  const payload = readMetadata(fields, 'payload');
  const data = readMetadata(fields, 'data');

  const title = readText(fields, 'title', used, problems);
  const body = readText(fields, 'body', used, problems) ?? readMessage(fields.message);
  const source = readText(fields, 'source', used, problems);
  const category = readWord(fields, payload, data, 'category', problems);
  const severity = readWord(fields, payload, data, 'severity', problems);

  const request: NormalizedRequest = {
    sendPush: readBoolean(fields, 'sendPush', problems) ?? true,
    sendEmail: readBoolean(fields, 'sendEmail', problems) ?? null,
    sendMqtt: readBoolean(fields, 'sendMqtt', problems) ?? true,
    strictDelivery: readBoolean(fields, 'strictDelivery', problems) ?? false,
    deviceId: readText(fields, 'deviceId', used, problems) ?? null,
    mqttQos: readQos(fields.mqttQos, problems),
    customBroker: readCustomBroker(fields.mqttConnection, fields.mqttConfig, addressPolicy, problems),
    content: {
      title: cut(title ?? defaults.title, limits.titleCharacters),
      body: cut(body ?? defaults.body, limits.bodyCharacters),
      source: cut(source ?? defaults.source, limits.sourceCharacters),
      category: category === undefined ? defaults.category : toCategory(category),
      severity: severity === undefined ? defaults.severity : toSeverity(severity),
      data: mergeData(fields, payload, data, used),
    },
  };

  if (problems.length > 0) throw new Refusal('invalid_body', { details: problems });
  const isMeaningful =
    title !== undefined ||
    body !== undefined ||
    !isAbsent(fields.message) ||
    !isAbsent(fields.category) ||
    !isAbsent(fields.severity) ||
    !payload.isEmpty ||
    !data.isEmpty;
  if (!isMeaningful) throw emptyPayload();
  return request;
}

/** The text of a field or of the first of its aliases that is present; the alias taken is noted in `used`. */
function readText(fields: JsonObject, name: string, used: Set<string>, problems: ErrorDetail[]): string | undefined {
  for (const candidate of [name, ...aliasNames.filter((alias) => aliases[alias] === name)]) {
    const value = fields[candidate];
    if (isAbsent(value)) continue;
    used.add(candidate);
    if (typeof value !== 'object') return String(value).trim();
    problems.push({ field: candidate, problem: 'must be text, not an object or array' });
    return undefined;
  }
  return undefined;
}

/** `message` is data that can stand in for the body; as an object (Telegram sends one) it is data alone. */
function readMessage(value: JsonValue | undefined): string | undefined {
  return isAbsent(value) || typeof value === 'object' ? undefined : String(value).trim();
}

function readBoolean(fields: JsonObject, name: string, problems: ErrorDetail[]): boolean | undefined {
  const value = fields[name];
  if (isAbsent(value)) return undefined;
  const meaning = booleanWords.get(typeof value === 'string' ? value.trim().toLowerCase() : (value as JsonValue));
  if (meaning === undefined) problems.push({ field: name, problem: 'must be true or false' });
  return meaning;
}

function readQos(value: JsonValue | undefined, problems: ErrorDetail[]): Qos {
  if (isAbsent(value)) return defaults.mqttQos;
  const level = qosLevels.find((qos) => value === qos || (typeof value === 'string' && value.trim() === String(qos)));
  if (level === undefined) problems.push({ field: 'mqttQos', problem: `must be ${listWithOr(qosLevels)}` });
  return level ?? defaults.mqttQos;
}

/** Top level before payload before data: the first that is present decides, understood or not. */
function readWord(
  fields: JsonObject,
  payload: Metadata,
  data: Metadata,
  name: 'category' | 'severity',
  problems: ErrorDetail[],
): string | undefined {
  const topLevel = fields[name];
  if (!isAbsent(topLevel) && typeof topLevel === 'object') {
    problems.push({ field: name, problem: 'must be text, not an object or array' });
    return undefined;
  }
  const value = [topLevel, payload.members[name], data.members[name]].find((candidate) => !isAbsent(candidate));
  if (value === undefined) return undefined;
  // An object is present, but has no defined meaning.
  return typeof value === 'object' ? '' : String(value).trim().toLowerCase();
}

function toCategory(word: string): Category {
  return categories.find((known) => known === word) ?? lookUp(categorySynonyms, word) ?? defaults.category;
}

function toSeverity(word: string): Severity | null {
  return severities.find((known) => known === word) ?? lookUp(severitySynonyms, word) ?? defaults.severity;
}

function lookUp<T>(table: Readonly<Record<string, T>>, word: string): T | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

interface Metadata {
  members: JsonObject;
  isEmpty: boolean;
}

/** `payload` or `data`: an object, JSON text of one, or any other value, which is kept under its field name. */
function readMetadata(fields: JsonObject, name: 'payload' | 'data'): Metadata {
  const value = fields[name];
  if (isAbsent(value)) return { members: {}, isEmpty: true };
  if (typeof value === 'string') {
    const parsed = parseJson(value);
    if (parsed !== undefined) {
      cleanJson(parsed);
      return { members: parsed, isEmpty: Object.keys(parsed).length === 0 };
    }
  } else if (typeof value === 'object' && !Array.isArray(value)) {
    return { members: value, isEmpty: Object.keys(value).length === 0 };
  }
  const isEmpty = Array.isArray(value) && value.length === 0;
  return { members: isEmpty ? {} : { [name]: value as JsonValue }, isEmpty };
}

/** Extends the first object that has members in place: a hostile body could make copying many keys expensive. */
function mergeData(fields: JsonObject, payload: Metadata, data: Metadata, used: ReadonlySet<string>): JsonObject {
  const merged: JsonObject = Object.setPrototypeOf(data.isEmpty ? payload.members : data.members, null);
  if (!data.isEmpty) Object.assign(merged, payload.members);
  for (const name of Object.keys(fields)) {
    if (controlNames.has(name) || used.has(name)) continue;
    const value = fields[name] as JsonValue;
    const isBlankStandIn = (name === 'message' || Object.hasOwn(aliases, name)) && isAbsent(value);
    if (!isBlankStandIn) merged[name] = value;
  }
  // It contains credentials, in whichever field it was sent.
  delete merged.mqttConfig;
  return merged;
}

/** Cuts to whole Unicode code points, never through a surrogate pair. */
export function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  let end = 0;
  for (let count = 0; count < characters && end < text.length; count += 1) {
    end += (text.codePointAt(end) as number) > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

function listWithOr(items: readonly (string | number)[]): string {
  return `${items.slice(0, -1).join(', ')} or ${items.at(-1)}`;
}
