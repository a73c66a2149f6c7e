// Names of tables and columns for SQL that is put together by hand. They come from our own schema and hold no quotes.
import type { Column } from './transfer-tables.ts';

export function quote(name: string): string {
  return `"${name}"`;
}

export function names(columns: readonly Column[]): string {
  return columns.map(({ name }) => quote(name)).join(', ');
}
