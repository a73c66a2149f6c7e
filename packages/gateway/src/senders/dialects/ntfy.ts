// The protocol of ntfy for publishing: https://docs.ntfy.sh/publish/
import {
  defaults,
  type ErrorCode,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest,
  reservedSegments,
  type Severity,
} from '@tocsin/contract';
import { Refusal } from '../../core/refusal.ts';
import { emojiOf } from '../emoji.ts';
import {
  type Dialect,
  type EventAction,
  membersOf,
  type SenderEvent,
  type SenderProblem,
  type SenderRequest,
  textOf,
  toLine,
  urlOf,
} from '../event.ts';
import { headerText } from '../header-text.ts';

const topicShape = /^[-_A-Za-z0-9]{1,64}$/;
const getActions: ReadonlySet<string> = new Set(['publish', 'send', 'trigger']);
/** What ntfy shows for a message without text. */
const emptyMessage = 'triggered';
/** More are not shown anywhere, and a hostile message may have a million. */
const maxTags = 50;
const maxActions = 10;

/** Names of parameters, as headers and in the query; the first that is present wins. */
const names = {
  title: ['x-title', 'title', 't'],
  message: ['x-message', 'message', 'm'],
  priority: ['x-priority', 'priority', 'prio', 'p'],
  tags: ['x-tags', 'tags', 'tag', 'ta'],
  click: ['x-click', 'click'],
  icon: ['x-icon', 'icon'],
  attach: ['x-attach', 'attach', 'a'],
  filename: ['x-filename', 'filename', 'file', 'f'],
  delay: ['x-delay', 'delay', 'x-at', 'at', 'x-in', 'in'],
  actions: ['x-actions', 'actions', 'action'],
  markdown: ['x-markdown', 'markdown', 'md'],
  firebase: ['x-firebase', 'firebase'],
  sequence_id: ['x-sequence-id', 'sequence-id', 'sid'],
} as const;

/** Headers that other senders do not use. */
const distinctiveHeaders = [...names.title.slice(0, 2), ...names.message.slice(0, 2), ...names.tags.slice(0, 2)];

const priorityWords: Readonly<Record<string, number>> = { min: 1, low: 2, default: 3, high: 4, max: 5, urgent: 5 };

/** Tags for "up" and "down": senders such as Uptime Kuma give both the same priority. */
const goodTags: ReadonlySet<string> = new Set(['white_check_mark', 'green_circle', 'heavy_check_mark']);
const badTags: ReadonlySet<string> = new Set(['rotating_light', 'red_circle', 'skull']);

/** A message as ntfy writes it in JSON. */
interface Message {
  topic: string;
  title?: string | undefined;
  message: string;
  priority?: number | undefined;
  tags?: string[] | undefined;
  click?: string | undefined;
  icon?: string | undefined;
  attach?: string | undefined;
  filename?: string | undefined;
  delay?: string | undefined;
  actions?: JsonValue | undefined;
  markdown?: boolean | undefined;
  firebase?: string | undefined;
  sequence_id?: string | undefined;
}

export const ntfy: Dialect = {
  name: 'ntfy',
  label: 'ntfy',
  acceptsEmptyBody: true,

  isAt({ method, path, isRoot }) {
    if (/^ntfy(\/|$)/.test(path) || path === 'v1/health' || path === 'v1/account') return true;
    if (!isRoot) return false;
    const { topic, action } = splitPath(path);
    if (topic === null) return false;
    return action === null ? method === 'POST' || method === 'PUT' : method === 'GET';
  },

  matches(request) {
    const { method, path, headers, body } = request;
    if (path === '') return isNtfyJson(body.value);
    const { topic, action } = splitPath(path);
    if (topic === null) return false;
    if (action !== null) return method === 'GET';
    return body.kind === 'text' || distinctiveHeaders.some((name) => headers[name] !== undefined);
  },

  read(request) {
    const message = readMessage(request);
    refuseDelay(message.delay);
    const isJson = withoutPrefix(request.path) === '';
    return { ...toEvent(message), original: isJson ? request.body.value : (message as unknown as JsonObject) };
  },

  confirm({ id, now, event }) {
    const { firebase: _, markdown: __, ...message } = readJson(event.original ?? null);
    return toLine({ id, time: Math.floor(now / 1000), event: 'message', ...message });
  },

  refuse(problem) {
    const { status: http, text: error } = problem;
    return toLine({ code: codeOf(problem), http, error, link: 'https://docs.ntfy.sh/publish/' });
  },

  status: (path) => (withoutPrefix(path) === 'v1/health' ? { healthy: true } : null),

  account: (path, name) => (withoutPrefix(path) === 'v1/account' ? accountOf(name) : null),
};

/** Whether the body of a request to the address of the server itself is a message of ntfy. */
function isNtfyJson(value: JsonValue): boolean {
  const { topic, message, title } = membersOf(value);
  const hasText = typeof message === 'string' || typeof title === 'string';
  return typeof topic === 'string' && topicShape.test(topic) && hasText;
}

/**
 * `POST /` takes JSON of ntfy too. Fields of the contract keep their meaning; only what they leave at its default comes
 * from the message.
 */
export function withNtfy(request: NormalizedRequest, fields: JsonObject): NormalizedRequest {
  if (!isNtfyJson(fields)) return request;
  const { topic, message, priority, tags = [], delay } = readJson(fields);
  refuseDelay(delay);
  const { content } = request;
  return {
    ...request,
    content: {
      ...content,
      title: content.title === defaults.title ? topic : content.title,
      source: content.source === defaults.source ? topic : content.source,
      severity: content.severity ?? severityOfMessage(priority, tags),
    },
    ntfy: { topic, message },
  };
}

/** The path below the topic is null for a publish by POST or PUT; the topic is null for any other path. */
function splitPath(path: string): { topic: string | null; action: string | null } {
  const [topic = '', action, ...rest] = path.split('/');
  const isTopic = topicShape.test(topic) && !reservedSegments.has(topic) && rest.length === 0;
  if (!isTopic || (action !== undefined && !getActions.has(action))) return { topic: null, action: null };
  return { topic, action: action ?? null };
}

function withoutPrefix(path: string): string {
  return path.replace(/^ntfy(\/|$)/, '');
}

function readMessage(request: SenderRequest): Message {
  const path = withoutPrefix(request.path);
  if (path === '') return readJson(request.body.value);
  const { topic } = splitPath(path);
  if (topic === null) throw invalid('topic', 'is not a valid topic');
  return readParameters(request, topic);
}

/** JSON is sent to the address of the server, and names its topic. */
function readJson(value: JsonValue): Message {
  const fields = membersOf(value);
  const topic = textOf(fields.topic);
  if (topic === undefined) throw invalid('body', 'must be valid JSON with a topic');
  if (!topicShape.test(topic)) throw invalid('topic', 'is not a valid topic');
  const tags = Array.isArray(fields.tags)
    ? fields.tags.slice(0, maxTags).flatMap((tag) => textOf(tag) ?? [])
    : undefined;
  return compact({
    topic,
    title: textOf(fields.title),
    message: textOf(fields.message) ?? emptyMessage,
    priority: priorityOf(textOf(fields.priority)),
    tags,
    click: textOf(fields.click),
    icon: textOf(fields.icon),
    attach: textOf(fields.attach),
    filename: textOf(fields.filename),
    delay: textOf(fields.delay),
    actions: Array.isArray(fields.actions) ? fields.actions.slice(0, maxActions) : undefined,
    markdown: fields.markdown === true || undefined,
    firebase: textOf(fields.firebase),
    sequence_id: textOf(fields.sequence_id),
  });
}

function readParameters(request: SenderRequest, topic: string): Message {
  const first = (name: keyof typeof names): string | undefined => valuesOf(request, names[name])[0];
  const isMarkdown = isYes(first('markdown')) || request.headers['content-type']?.startsWith('text/markdown') === true;
  const filename = first('filename');
  return compact({
    topic,
    title: first('title'),
    message: messageText(request, first('message')?.replaceAll('\\n', '\n'), filename),
    // Browsers and proxies send another header of this name (RFC 9218), such as `u=1, i`.
    priority: valuesOf(request, names.priority).map(priorityOf).find(isPresent),
    tags: first('tags')
      ?.split(',')
      .flatMap((tag) => textOf(tag) ?? []),
    click: first('click'),
    icon: first('icon'),
    attach: first('attach'),
    filename,
    delay: first('delay'),
    actions: first('actions'),
    markdown: isMarkdown || undefined,
    firebase: first('firebase'),
    sequence_id: first('sequence_id'),
  });
}

/** The values of a parameter that are not blank: headers first, then the query. */
function valuesOf({ headers, query }: SenderRequest, names: readonly string[]): string[] {
  const fromHeaders = names.map((name) => headers[name] && headerText(headers[name]));
  const fromQuery = names.map((name) => query.get(name) ?? undefined);
  return [...fromHeaders, ...fromQuery].flatMap((value) => textOf(value) ?? []);
}

/** A text file is part of the message. Of any other file only the name and size are kept. */
function messageText({ method, headers, body }: SenderRequest, message: string | undefined, filename?: string): string {
  const text = method === 'GET' ? '' : body.text.trim();
  if (isBinary(text)) {
    const size = headers['content-length'] === undefined ? '' : `, ${headers['content-length']} bytes`;
    const dropped = `(file not kept: ${filename ?? 'without a name'}${size})`;
    return message === undefined ? dropped : `${message}\n${dropped}`;
  }
  if (filename !== undefined && message !== undefined && text !== '') return `${message}\n${text}`;
  return text || message || emptyMessage;
}

function isBinary(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are in files, and not in texts.
  return /[\0-\x08\x0e-\x1a]/.test(text);
}

function toEvent(message: Message): SenderEvent {
  const { topic, title, tags = [], attach, priority } = message;
  const attached = urlOf(attach);
  const isImage = attached !== undefined && /\.(png|jpe?g|gif|webp|avif)$/i.test(new URL(attached).pathname);
  const emoji = tags.flatMap((tag) => emojiOf(tag) ?? []);
  const severity = severityOfMessage(priority, tags);
  return {
    title: [...emoji, title ?? topic].join(' '),
    body: message.message,
    severity,
    source: topic,
    clickUrl: urlOf(message.click),
    imageUrl: isImage ? attached : undefined,
    actions: [
      ...actionsOf(message.actions),
      ...(attached === undefined || isImage ? [] : [{ label: message.filename ?? 'Attachment', url: attached }]),
    ],
    tags: tags.filter((tag) => emojiOf(tag) === undefined),
    silent: priority !== undefined && priority < 3 && severity === 'info',
    format: message.markdown ? 'markdown' : undefined,
    threadKey: message.sequence_id,
    channels: message.firebase !== undefined && !isYes(message.firebase) ? { push: false } : undefined,
  };
}

function severityOfMessage(priority: number | undefined, tags: readonly string[]): Severity | null {
  if (tags.some((tag) => goodTags.has(tag))) return 'info';
  if (priority === 5) return 'critical';
  if (tags.some((tag) => badTags.has(tag))) return 'error';
  if (priority === 4) return 'warning';
  return priority === undefined || priority === 3 ? null : 'info';
}

/** undefined: unknown. */
function priorityOf(value: string | undefined): number | undefined {
  const word = value?.toLowerCase() ?? '';
  return /^[1-5]$/.test(word) ? Number(word) : Object.hasOwn(priorityWords, word) ? priorityWords[word] : undefined;
}

/** Only actions that open an address: a JSON array, or `view, Label, https://…; …`. */
function actionsOf(actions: JsonValue | undefined): EventAction[] {
  const items = Array.isArray(actions) ? actions : parseActions(textOf(actions) ?? '');
  return items.map(membersOf).flatMap(({ action, label, url }) => {
    const address = urlOf(url);
    return action === 'view' && address !== undefined ? [{ label: textOf(label) ?? address, url: address }] : [];
  });
}

function parseActions(text: string): JsonValue[] {
  if (text.startsWith('[')) {
    try {
      return JSON.parse(text) as JsonValue[];
    } catch {
      return [];
    }
  }
  return text.split(';').map((part) => {
    const fields: JsonObject = {};
    part.split(',').forEach((field, index) => {
      const [, name, value = ''] = /^\s*(?:(action|label|url)=)?(.*)$/s.exec(field) ?? [];
      const position = ['action', 'label', 'url'][index];
      const key = name ?? position;
      if (key !== undefined) fields[key] = value.trim().replace(/^(['"])(.*)\1$/, '$2');
    });
    return fields;
  });
}

function isYes(value: string | undefined): boolean {
  return value !== undefined && /^(1|yes|true)$/i.test(value);
}

function isPresent<T>(value: T | undefined): value is T {
  return value !== undefined;
}

/** Without the members that are undefined. */
function compact(message: Message): Message {
  return Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined)) as unknown as Message;
}

/** A message that is to be sent later must not be sent now. */
function refuseDelay(delay: string | undefined): void {
  if (delay !== undefined) throw invalid('delay', 'scheduled messages are not supported');
}

function invalid(field: string, problem: string): Refusal {
  return new Refusal('invalid_body', { details: [{ field, problem }] });
}

/** The error codes of ntfy: the status, and two digits. */
function codeOf({ status, code, field }: SenderProblem): number {
  const specific: Partial<Record<string, number>> = { delay: 40004, topic: 40009, body: 40017 };
  const isInvalid: boolean = code === ('invalid_body' satisfies ErrorCode);
  return (isInvalid ? specific[field ?? ''] : undefined) ?? (status === 400 ? 40000 : status * 100 + 1);
}

/** Home Assistant decodes every one of these members. Zero stands for what there is no limit or count of. */
function accountOf(username: string): object {
  const limits = {
    basis: 'tier',
    messages: 0,
    messages_expiry_duration: 0,
    emails: 0,
    calls: 0,
    reservations: 0,
    attachment_total_size: 0,
    attachment_file_size: 0,
    attachment_expiry_duration: 0,
    attachment_bandwidth: 0,
  };
  const stats = {
    messages: 0,
    messages_remaining: 0,
    emails: 0,
    emails_remaining: 0,
    calls: 0,
    calls_remaining: 0,
    reservations: 0,
    reservations_remaining: 0,
    attachment_total_size: 0,
    attachment_total_size_remaining: 0,
  };
  return { username, role: 'user', limits, stats };
}
