// The search and filters of the list. They are part of the address, so that reloading and going back keep them.
import { type Category, categories, type Severity, severities } from '@tocsin/contract/fields';

export const severityChoices = [...severities, 'none'] as const;
export type SeverityChoice = Severity | 'none';

export interface Filters {
  q: string;
  severity: readonly SeverityChoice[];
  category: readonly Category[];
  unread: boolean;
}

/** The limit of the console. */
export const maxQueryCharacters = 200;

export function readFilters(query: string): Filters {
  const params = new URLSearchParams(query);
  const severity = params.get('severity')?.split(',') ?? [];
  const category = params.get('category')?.split(',') ?? [];
  return {
    q: (params.get('q') ?? '').slice(0, maxQueryCharacters),
    severity: severityChoices.filter((choice) => severity.includes(choice)),
    category: categories.filter((choice) => category.includes(choice)),
    unread: params.get('unread') === '1',
  };
}

/** Returns the query string with its question mark, or '' without filters. */
export function writeFilters({ q, severity, category, unread }: Filters): string {
  const query = new URLSearchParams();
  if (q !== '') query.set('q', q);
  if (severity.length > 0) query.set('severity', severity.join(','));
  if (category.length > 0) query.set('category', category.join(','));
  if (unread) query.set('unread', '1');
  return query.size === 0 ? '' : `?${query}`;
}

/** Rows are encrypted: only unread ones can be listed without decrypting all rows, which is what a search does. */
export function needsSearch({ q, severity, category }: Filters): boolean {
  return q.trim() !== '' || severity.length > 0 || category.length > 0;
}

/** The number of active filters, without the search. */
export function countFilters({ severity, category, unread }: Filters): number {
  return severity.length + category.length + (unread ? 1 : 0);
}

export const noFilters: Filters = { q: '', severity: [], category: [], unread: false };
