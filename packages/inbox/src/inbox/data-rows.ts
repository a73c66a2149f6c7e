// Flattens the data of a notification to table rows: nested values follow their parent, one level deeper.
import type { InboxEntry } from '@tocsin/contract/console';
import { text } from '../text/index.ts';
import { stripBidiControls } from './text-direction.ts';

type Value = InboxEntry['data'][string];
export type DataKind = 'text' | 'number' | 'boolean' | 'null' | 'empty' | 'object' | 'array';

export interface DataRow {
  /** Unique id of the row: the keys from the root, as JSON. */
  path: string;
  depth: number;
  key: string;
  /** The key is an array index. */
  isIndex: boolean;
  kind: DataKind;
  /** The value as text; for objects and arrays their size. */
  content: string;
  /** null if there is nothing to expand. */
  isOpen: boolean | null;
}

/** Containers up to this depth and size are expanded by default. */
const openDepth = 3;
const openItems = 20;

/** `toggled` has the paths that the user expanded or collapsed against the default. Returns at most `limit` rows. */
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

/** A summary of the data for notifications without a body. */
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
  // Array indexes are shown from 1.
  const shown = typeof key === 'number' ? String(key + 1) : stripBidiControls(key);
  const size = entriesOf(value).length;
  if (size === 0) return { ...row, key: shown, ...leaf(value), isOpen: null };
  const isOpenByDefault = path.length <= openDepth && size <= openItems;
  const isArray = Array.isArray(value);
  return {
    ...row,
    key: shown,
    kind: isArray ? 'array' : 'object',
    content: isArray ? text.inbox.items(size) : text.inbox.fields(size),
    isOpen: toggled.has(row.path) !== isOpenByDefault,
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
