// The parts of a notification that both forms of an email list.
import type { JsonObject, JsonValue } from '@tocsin/contract';
import type { Notification } from '../../usecases/ports/index.ts';
import { cut, manyLines, oneLine } from './sanitize.ts';

export interface Row {
  name: string;
  value: string;
  /** Nested values are JSON over several lines. */
  isNested: boolean;
}

export interface DataTable {
  rows: Row[];
  /** How many rows were left out. */
  more: number;
}

const mostRows = 100;
const nameCharacters = 120;
const valueCharacters = 1000;
/** Gmail truncates emails after 102 kB of HTML; with markup and escapes this limit stays well below. */
const tableCharacters = 24_000;

export function tableOf(data: JsonObject): DataTable {
  const entries = Object.entries(data);
  const rows: Row[] = [];
  let left = tableCharacters;
  for (const [key, value] of entries.slice(0, mostRows)) {
    const row = rowOf(key, value);
    left -= row.name.length + row.value.length;
    if (left < 0) break;
    rows.push(row);
  }
  return { rows, more: entries.length - rows.length };
}

function rowOf(key: string, value: JsonValue): Row {
  const isNested = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, isNested ? 2 : 0);
  return { name: cut(oneLine(key), nameCharacters), value: cut(manyLines(text), valueCharacters), isNested };
}

export function originOf({ createdAt, content: { source, category } }: Notification): [name: string, value: string][] {
  const [day, time] = new Date(createdAt).toISOString().split(/[T.]/);
  return [
    ['Source', oneLine(source)],
    ['Category', category],
    ['Time', `${day} ${time} UTC`],
  ];
}
