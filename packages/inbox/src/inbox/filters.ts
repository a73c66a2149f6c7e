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

/** The active filters as query parameters, of this page and of the console's search. */
export function filterQuery({ q, severity, category, unread }: Filters) {
  return {
    ...(q !== '' && { q }),
    ...(severity.length > 0 && { severity: severity.join(',') }),
    ...(category.length > 0 && { category: category.join(',') }),
    ...(unread && { unread: '1' as const }),
  };
}

/** Returns the query string with its question mark, or '' without filters. */
export function writeFilters(filters: Filters): string {
  const query = new URLSearchParams(filterQuery(filters));
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
