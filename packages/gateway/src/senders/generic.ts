// The rule for events that no preset knows: it looks for the names that most senders use.
import type { JsonObject, JsonValue } from '@tocsin/contract';
import { membersOf, type SenderEvent, type SenderRequest, textOf, urlOf } from './event.ts';
import { severityOf } from './severity.ts';

const titleNames = ['title', 'subject', 'summary'];
const eventNames = ['event_type', 'eventType', 'event', 'type', 'action'];
const bodyNames = ['body', 'description', 'text', 'message', 'msg', 'content', 'output', 'details'];
const severityNames = ['severity', 'level', 'status', 'state', 'priority', 'type', 'conclusion'];
const urlNames = ['html_url', 'url', 'link', 'web_url'];
const subjectNames = ['name', 'title', 'full_name', 'id'];
/** Members that many senders wrap their event in. */
const wrappers = ['data', 'payload', 'event', 'alert', 'notification', 'object', 'resource', 'detail'];
const titleLines = 1;
const bodyLines = 20;

export function readGeneric({ body: { kind, value, text } }: SenderRequest): SenderEvent {
  if (kind === 'text' || typeof value !== 'object' || value === null) return readText(text);
  const levels = levelsOf(Array.isArray(value) ? value[0] : value);
  const title = firstText(levels, titleNames) ?? titleOfEvent(levels);
  return {
    title,
    body: firstText(levels, bodyNames),
    severity: first(levels, severityNames, severityOf),
    clickUrl: first(levels, urlNames, urlOf),
  };
}

/** The event itself, and the objects that it may be wrapped in. */
function levelsOf(value: JsonValue | undefined): JsonObject[] {
  const top = membersOf(value);
  return [top, ...wrappers.map((name) => membersOf(top[name]))];
}

/** The first of these names that has a value, on the outermost level where one has. */
function first<T>(
  levels: readonly JsonObject[],
  names: readonly string[],
  read: (value: JsonValue | undefined) => T | undefined,
): T | undefined {
  for (const level of levels) {
    for (const name of names) {
      const found = read(level[name]);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function firstText(levels: readonly JsonObject[], names: readonly string[]): string | undefined {
  return first(levels, names, (value) => (typeof value === 'string' ? textOf(value) : undefined));
}

/** `deployment.failed: shop`, from the kind of event and the name of what it is about. */
function titleOfEvent(levels: readonly JsonObject[]): string | undefined {
  const event = firstText(levels, eventNames);
  if (event === undefined) return undefined;
  const subject = firstText(levels, subjectNames);
  return subject === undefined ? event : `${event}: ${subject}`;
}

function readText(text: string): SenderEvent {
  const lines = text.trim().split('\n', bodyLines + titleLines);
  const [title = '', ...rest] = lines.map((line) => line.trimEnd());
  if (rest.length === 0) return { body: title };
  return { title, body: rest.join('\n').trim() };
}
