// What the reader wants to see. It lives in the address, so that reloading and going back keep it.
import { type Category, categories, type Severity, severities } from '@tocsin/contract/fields';

export const severityChoices = [...severities, 'none'] as const;
export type SeverityChoice = Severity | 'none';

export interface Filters {
  q: string;
  severity: readonly SeverityChoice[];
  category: readonly Category[];
  unread: boolean;
}

/** The console takes no longer ones. */
export const maxQueryCharacters = 200;

export function readFilters(query: string): Filters {
  const given = new URLSearchParams(query);
  const severity = given.get('severity')?.split(',') ?? [];
  const category = given.get('category')?.split(',') ?? [];
  return {
    q: (given.get('q') ?? '').slice(0, maxQueryCharacters),
    severity: severityChoices.filter((choice) => severity.includes(choice)),
    category: categories.filter((choice) => category.includes(choice)),
    unread: given.get('unread') === '1',
  };
}

/** '' or ?… */
export function writeFilters({ q, severity, category, unread }: Filters): string {
  const query = new URLSearchParams();
  if (q !== '') query.set('q', q);
  if (severity.length > 0) query.set('severity', severity.join(','));
  if (category.length > 0) query.set('category', category.join(','));
  if (unread) query.set('unread', '1');
  return query.size === 0 ? '' : `?${query}`;
}

/** The rows are sealed: only whether they are unread can be asked for without opening them. */
export function needsSearch({ q, severity, category }: Filters): boolean {
  return q.trim() !== '' || severity.length > 0 || category.length > 0;
}

/** How many, apart from the words looked for. */
export function countFilters({ severity, category, unread }: Filters): number {
  return severity.length + category.length + (unread ? 1 : 0);
}

export const noFilters: Filters = { q: '', severity: [], category: [], unread: false };
