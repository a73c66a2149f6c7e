// Names of tables and columns for SQL that is put together by hand. They come from a schema, never from a caller.
import type { Column } from './transfer-tables.ts';

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function names(columns: readonly Column[]): string {
  return columns.map(({ name }) => quote(name)).join(', ');
}
