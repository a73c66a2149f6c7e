// CloudEvents 1.0 over HTTP: structured, binary (attributes in headers) and batched.
import type { JsonObject, JsonValue } from '@tocsin/contract';
import { itemsOf, membersOf, objectsOf, type Preset, type SenderRequest, textOf } from '../event.ts';
import { readGeneric } from '../generic.ts';
import { severityOfType } from '../severity.ts';
import { joinLines } from '../text.ts';

const attributeNames = ['specversion', 'id', 'source', 'type', 'subject'] as const;
const shownEvents = 10;
/** Of a larger batch only this many events are read; the count in the title is that of all. */
const readEvents = 100;

type Attributes = Partial<Record<(typeof attributeNames)[number], string>>;

interface CloudEvent {
  attributes: Attributes;
  data: JsonValue | undefined;
}

export const cloudEvents: Preset = {
  name: 'cloudevents',
  label: 'CloudEvents',

  matches(request) {
    if (/^application\/cloudevents(-batch)?\+json/i.test(request.headers['content-type'] ?? '')) return true;
    const { specversion, id, source, type } = attributesOf(request.headers, membersOf(request.body.value));
    return [specversion, id, source, type].every((attribute) => attribute !== undefined);
  },

  read(request) {
    const events = eventsOf(request);
    const count = Math.max(events.length, itemsOf(request.body.value).length);
    const [first] = events;
    if (first === undefined) return null;
    const { attributes, data } = first;
    const { subject, type, source } = attributes;
    const title = subject ?? type;
    if (title === undefined) return null;
    const found = readData(request, data);
    const others = events.slice(1, shownEvents).map((event) => event.attributes.subject ?? event.attributes.type);
    return {
      title: count === 1 ? title : `${title} and ${count - 1} more`,
      body: joinLines(subject === undefined ? undefined : type, found.title, found.body, ...others),
      severity: found.severity ?? severityOfType(type ?? ''),
      source,
      idempotencyKey: events.map((event) => `${event.attributes.source} ${event.attributes.id}`).join('\n'),
    };
  },
};

function eventsOf({ headers, body: { value } }: SenderRequest): CloudEvent[] {
  const isBinary = headers['ce-id'] !== undefined;
  if (isBinary) return [{ attributes: attributesOf(headers, {}), data: value }];
  return objectsOf(Array.isArray(value) ? value : [value], readEvents).map((event) => ({
    attributes: attributesOf({}, event),
    data: event.data,
  }));
}

/** From headers, where special characters are percent-encoded, or from members. */
function attributesOf(headers: SenderRequest['headers'], members: JsonObject): Attributes {
  const isBinary = headers['ce-id'] !== undefined;
  return Object.fromEntries(
    attributeNames.flatMap((name) => {
      const text = textOf(isBinary ? decode(headers[`ce-${name}`] ?? '') : members[name]);
      return text === undefined ? [] : [[name, text]];
    }),
  );
}

function readData(request: SenderRequest, data: JsonValue | undefined): ReturnType<typeof readGeneric> {
  if (typeof data === 'object')
    return readGeneric({ ...request, body: { ...request.body, kind: 'json', value: data } });
  return { body: textOf(data) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
