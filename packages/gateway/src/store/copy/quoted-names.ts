// Quoted names of tables and columns for hand-written SQL. They come from the schema, never from a caller.
import type { Column } from './transfer-tables.ts';

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function names(columns: readonly Column[]): string {
  return columns.map(({ name }) => quote(name)).join(', ');
}
