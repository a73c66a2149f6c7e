// The parts of a notification that both forms of an email list.
import { type AcceptedContent, EncodedData, type JsonValue } from '@tocsin/contract';
import { excerptOf } from '../../core/data-excerpt.ts';
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

/** The data beside the body. */
export function tableOf(content: AcceptedContent): DataTable {
  const { body, data } = content;
  const { members, count } = data instanceof EncodedData ? data.excerpt : excerptOf({ body, data });
  const rows: Row[] = [];
  let left = tableCharacters;
  for (const [key, value] of Object.entries(members).slice(0, mostRows)) {
    const row = rowOf(key, value);
    left -= row.name.length + row.value.length;
    if (left < 0) break;
    rows.push(row);
  }
  return { rows, more: count - rows.length };
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
