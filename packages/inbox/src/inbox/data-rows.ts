// The data of a notification as the rows of one table: what is nested follows its parent, one step further in.
import type { InboxEntry } from '@tocsin/contract/console';
import { text } from '../text/index.ts';
import { stripBidiControls } from './text-direction.ts';

type Value = InboxEntry['data'][string];
export type DataKind = 'text' | 'number' | 'boolean' | 'null' | 'empty' | 'object' | 'array';

export interface DataRow {
  /** Tells rows apart: the keys from the top, as JSON. */
  path: string;
  depth: number;
  key: string;
  /** The key is a place in a list. */
  isIndex: boolean;
  kind: DataKind;
  /** The value in words; for objects and arrays how much is in them. */
  content: string;
  /** null where there is nothing to open. */
  isOpen: boolean | null;
}

const openDepth = 3;
const openItems = 20;

/** `toggled` holds the paths that the reader opened or closed against the default. Reads no more than `limit` rows. */
export function dataRows(data: InboxEntry['data'], toggled: ReadonlySet<string>, limit: number): DataRow[] {
  const rows: DataRow[] = [];
  const add = (container: Value, trail: (string | number)[]): void => {
    for (const [key, value] of entriesOf(container)) {
      if (rows.length >= limit) return;
      const path = [...trail, key];
      const row = describe(key, value, path, toggled);
      rows.push(row);
      if (row.isOpen === true) add(value, path);
    }
  };
  add(data, []);
  return rows;
}

/** One line for a list: what there is instead of a text. */
export function summarize(data: InboxEntry['data']): string {
  const count = Object.keys(data).length;
  return count === 0 ? '' : text.inbox.fields(count);
}

function describe(
  key: string | number,
  value: Value,
  path: (string | number)[],
  toggled: ReadonlySet<string>,
): DataRow {
  const row = { path: JSON.stringify(path), depth: path.length - 1, isIndex: typeof key === 'number' };
  // People count from one.
  const shown = typeof key === 'number' ? String(key + 1) : stripBidiControls(key);
  const size = entriesOf(value).length;
  if (size === 0) return { ...row, key: shown, ...leaf(value), isOpen: null };
  const isOpenAtFirst = path.length <= openDepth && size <= openItems;
  const isArray = Array.isArray(value);
  return {
    ...row,
    key: shown,
    kind: isArray ? 'array' : 'object',
    content: isArray ? text.inbox.items(size) : text.inbox.fields(size),
    isOpen: toggled.has(row.path) !== isOpenAtFirst,
  };
}

function leaf(value: Value): { kind: DataKind; content: string } {
  if (value === null) return { kind: 'null', content: 'null' };
  if (Array.isArray(value)) return { kind: 'empty', content: text.inbox.emptyArray };
  if (typeof value === 'object') return { kind: 'empty', content: text.inbox.emptyObject };
  if (value === '') return { kind: 'empty', content: text.inbox.emptyText };
  if (typeof value === 'string') return { kind: 'text', content: value };
  return { kind: typeof value === 'number' ? 'number' : 'boolean', content: String(value) };
}

function entriesOf(value: Value): [string | number, Value][] {
  if (value === null || typeof value !== 'object') return [];
  return Array.isArray(value) ? [...value.entries()] : Object.entries(value);
}
