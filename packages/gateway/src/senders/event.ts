// What a sender posts to a hook, and what a preset makes of it.
import type { Category, ErrorCode, JsonObject, JsonValue, Severity } from '@tocsin/contract';

export interface SenderRequest {
  method: string;
  /** What follows the token, without the leading slash; empty if nothing does. */
  path: string;
  query: URLSearchParams;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: EventBody;
}

export interface EventBody {
  kind: 'json' | 'form' | 'text';
  /** The JSON value, the fields of the form, or the text. A form that wraps JSON in one field is the JSON. */
  value: JsonValue;
  /** The decoded text; for a form that wraps JSON, the JSON. */
  text: string;
  /** Names of the file parts that were dropped. */
  droppedFiles: readonly string[];
}

/** What a preset reads from an event. Missing fields are filled by the generic rule or by the defaults of the hook. */
export interface SenderEvent {
  title?: string | undefined;
  body?: string | undefined;
  /** null: the event has none. */
  severity?: Severity | null | undefined;
  category?: Category | undefined;
  source?: string | undefined;
  clickUrl?: string | undefined;
  imageUrl?: string | undefined;
  actions?: readonly EventAction[] | undefined;
  tags?: readonly string[] | undefined;
  /** Stored without a send. */
  silent?: boolean | undefined;
  format?: 'markdown' | undefined;
  /** Shared by all events about the same thing, such as an alert and its end. */
  threadKey?: string | undefined;
  /** The thing that the thread is about has ended. */
  resolved?: boolean | undefined;
  /** The delivery id of the sender. */
  idempotencyKey?: string | undefined;
  /** Channel → false: the request does not want it. */
  channels?: Readonly<Record<string, boolean>> | undefined;
  /** The whole event, if parts of it are not in the body of the request. Default: the body. */
  original?: JsonValue | undefined;
}

export interface EventAction {
  label: string;
  url: string;
}

/** An event that is not a notification, such as the test of an address. */
export interface IgnoredEvent {
  ignored: string;
}

export function ignore(reason: string): IgnoredEvent {
  return { ignored: reason };
}

export function isIgnored(event: SenderEvent | IgnoredEvent): event is IgnoredEvent {
  return 'ignored' in event;
}

/** How to read the events of one sender. Everything is pure. */
export interface Preset {
  /** In commands and rows: `alertmanager`. */
  readonly name: string;
  /** For people: `Alertmanager`. */
  readonly label: string;
  /** Whether a request comes from this sender, by its headers or the shape of its body. */
  matches(request: SenderRequest): boolean;
  /** null: the generic rule applies to this event. */
  read(request: SenderRequest): SenderEvent | IgnoredEvent | null;
  /** What is wrong with the signature of a request; null: it is valid. Absent if the sender does not sign. */
  signatureProblem?(signed: SignedRequest): string | null;
  /** The sender's own way to say that the event was received; undefined: JSON with the id of the notification. */
  respond?(request: SenderRequest): SenderResponse | undefined;
  /** Whether a request without a body is an event. Default: false. */
  readonly acceptsEmptyBody?: boolean;
}

/** The protocol of another notification server, which has addresses and errors of its own. */
export interface Dialect extends Preset {
  /** Whether all requests to this address are of this dialect. */
  isAt(address: DialectAddress): boolean;
  /** The body of the response to an event that was stored. */
  confirm(received: ReceivedEvent): string;
  /** The body of the response to a refused request. */
  refuse(problem: SenderProblem): string;
  /** The response to GET that needs no credential; null: there is none at this path. */
  status?(path: string, version: string): object | null;
  /** The response to GET about the credential, which has this name; null: there is none at this path. */
  account?(path: string, name: string): object | null;
}

export interface DialectAddress {
  method: string;
  /** What follows the first slash, or the token of a hook. */
  path: string;
  /** False below the address of a hook. */
  isRoot: boolean;
}

export interface ReceivedEvent {
  /** The id of the notification. */
  id: string;
  now: number;
  event: SenderEvent;
}

export interface SenderProblem {
  status: number;
  code: ErrorCode;
  /** What is wrong, for people. */
  text: string;
  /** The field that is wrong. */
  field: string | undefined;
}

export interface SignedRequest {
  request: SenderRequest;
  rawBody: Buffer;
  secret: string;
  now: number;
}

export interface SenderResponse {
  status: number;
  contentType?: string;
  body?: string;
}

/** JSON with a line break, because responses are often read in a terminal. */
export function toLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** The members of a JSON object; empty for any other value. */
export function membersOf(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

/** Text, or the text of a number; undefined for blank text and any other value. */
export function textOf(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return text === '' ? undefined : text;
}

const urlCharacters = 2048;

/** An http or https URL as it was sent; undefined for anything else, and for one that is too long for a link. */
export function urlOf(value: JsonValue | undefined): string | undefined {
  const text = textOf(value);
  if (text === undefined || text.length > urlCharacters) return undefined;
  return /^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text) ? text : undefined;
}

/** The value below these members; undefined if one of them is missing or not an object. */
export function valueAt(value: JsonValue | undefined, ...names: readonly string[]): JsonValue | undefined {
  return names.reduce<JsonValue | undefined>((found, name) => membersOf(found)[name], value);
}

/** The text below these members. */
export function textAt(value: JsonValue | undefined, ...names: readonly string[]): string | undefined {
  return textOf(valueAt(value, ...names));
}

/** The items of an array; empty for any other value. */
export function itemsOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** The objects at the beginning of an array; any other item is an empty object. */
export function objectsOf(value: JsonValue | undefined, most: number): JsonObject[] {
  return Array.from(itemsOf(value).slice(0, most), membersOf);
}

const excerptLines = 5;
const excerptCharacters = 500;

/** The beginning of a long text, for the body of a notification. */
export function excerptOf(value: JsonValue | undefined): string | undefined {
  const start = textOf(value)?.slice(0, excerptCharacters);
  return textOf(start?.split(/\r?\n/, excerptLines).join('\n'));
}

/** The first line of a text, for a title. */
export function firstLineOf(value: JsonValue | undefined): string | undefined {
  return textOf(excerptOf(value)?.split('\n', 1)[0]);
}

/** Chats refuse larger messages, and a body with a million members would take long to look at. */
const maxMessageCharacters = 256 * 1024;

/** Whether a body is small and has no other members than these. */
export function hasOnlyMembers({ value, text }: EventBody, names: ReadonlySet<string>): boolean {
  return text.length <= maxMessageCharacters && Object.keys(membersOf(value)).every((name) => names.has(name));
}
