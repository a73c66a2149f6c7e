// The protocol of Gotify for messages of applications: https://gotify.net/docs/pushmsg
import type { JsonObject, JsonValue, Severity } from '@tocsin/contract';
import { parseJson } from '../../core/parse-body.ts';
import { Refusal } from '../../core/refusal.ts';
import { type Dialect, membersOf, type SenderRequest, textOf, toLine, urlOf } from '../event.ts';

/** A message as Gotify writes it in JSON. */
interface Message {
  title?: string;
  message: string;
  priority?: number;
  extras?: JsonObject;
}

/** Text between code fences, as Proxmox sends it. */
const fenced = /^```\w*\n(.*?)\n?```\s*$/s;

const statusTexts: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  405: 'Method Not Allowed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  503: 'Service Unavailable',
};

export const gotify: Dialect = {
  name: 'gotify',
  label: 'Gotify',
  acceptsEmptyBody: true,

  isAt({ method, path }) {
    return path === 'message' || ((path === 'version' || path === 'health') && (method === 'GET' || method === 'HEAD'));
  },

  matches: () => false,

  read(request) {
    const message = readMessage(request);
    const { 'client::display': display, 'client::notification': notification } = message.extras ?? {};
    const { click, bigImageUrl } = membersOf(notification);
    return {
      title: message.title,
      body: fenced.exec(message.message)?.[1] ?? message.message,
      severity: severityOfPriority(message.priority),
      clickUrl: urlOf(membersOf(click).url),
      imageUrl: urlOf(bigImageUrl),
      format: membersOf(display).contentType === 'text/markdown' ? 'markdown' : undefined,
      original: message as unknown as JsonObject,
    };
  },

  confirm({ id, now, event }) {
    const { title = '', message, priority = 0, extras } = event.original as unknown as Message;
    const date = new Date(now).toISOString();
    return toLine({ id: numberOf(id), appid: 1, message, title, priority, ...(extras && { extras }), date });
  },

  refuse: ({ status, text }) =>
    toLine({ error: statusTexts[status] ?? 'Error', errorCode: status, errorDescription: text }),

  status(path, version) {
    if (path === 'health') return { health: 'green', database: 'green' };
    return path === 'version' ? { version, commit: '', buildDate: '' } : null;
  },
};

/** The fields are in the body (JSON, a form or multipart) or in the query. */
function readMessage({ body, query }: SenderRequest): Message {
  const fields = body.kind === 'text' ? {} : membersOf(body.value);
  const field = (name: string): JsonValue | undefined => fields[name] ?? query.get(name) ?? undefined;
  const message = textOf(field('message'));
  if (message === undefined) {
    throw new Refusal('invalid_body', { details: [{ field: 'message', problem: 'is required' }] });
  }
  const title = textOf(field('title'));
  const priority = Number(textOf(field('priority')) ?? Number.NaN);
  const sentExtras = field('extras');
  const extras = typeof sentExtras === 'string' ? parseJson(sentExtras) : membersOf(sentExtras);
  return {
    message,
    ...(title !== undefined && { title }),
    ...(Number.isInteger(priority) && { priority }),
    ...(extras !== undefined && Object.keys(extras).length > 0 && { extras }),
  };
}

/** Never critical: senders such as Uptime Kuma send the highest priority for good news too. */
function severityOfPriority(priority: number | undefined): Severity | null {
  if (priority === undefined) return null;
  if (priority >= 8) return 'error';
  return priority >= 4 ? 'warning' : 'info';
}

/** Clients decode the id as a number, some of them with 32 bits. */
function numberOf(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(-8), 16) >>> 1;
}
