// The preview line of a row in the list.
import type { InboxEntry } from '@tocsin/contract/console';
import { summarize } from './data-rows.ts';

/** More than one line can show. */
const previewCharacters = 200;

export function previewOf({ body, data }: Pick<InboxEntry, 'body' | 'data'>): string {
  return body.trimStart().split('\n', 1)[0]?.slice(0, previewCharacters) || summarize(data);
}
