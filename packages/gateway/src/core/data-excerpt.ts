// The beginning of the data of a notification, for channels that show a table of it.
import { type DataExcerpt, dataBesideBody, type JsonObject, type JsonValue } from '@tocsin/contract';

/** More than the tables of any channel show. */
const mostMembers = 100;
const valueCharacters = 2000;

export function excerptOf(content: { body: string; data: JsonObject }): DataExcerpt {
  const data = dataBesideBody(content);
  const keys = Object.keys(data);
  const members: JsonObject = {};
  for (const key of keys.slice(0, mostMembers)) {
    members[key] = truncate(data[key] as JsonValue, { characters: valueCharacters }, 1);
  }
  return { members, count: keys.length };
}

/** A copy of the value whose indented JSON begins with the same characters. */
function truncate(value: JsonValue, room: { characters: number }, depth: number): JsonValue {
  const indent = 2 * depth;
  room.characters -= indent;
  if (typeof value === 'string') {
    const text = value.slice(0, valueCharacters);
    room.characters -= text.length;
    return text;
  }
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    const items: JsonValue[] = [];
    for (const item of value) {
      if (room.characters <= 0) break;
      items.push(truncate(item, room, depth + 1));
    }
    return items;
  }
  const members: JsonObject = {};
  for (const key of Object.keys(value)) {
    if (room.characters <= 0) break;
    room.characters -= key.length;
    members[key] = truncate(value[key] as JsonValue, room, depth + 1);
  }
  return members;
}
