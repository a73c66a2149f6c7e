// Messages between the main thread and the search thread.
import type { SearchTerms } from '../../core/search-match.ts';
import type { EncryptionKey } from '../schema/database.ts';

export interface SearchJob {
  id: number;
  ownerId: string;
  terms: SearchTerms;
  /** All data keys of the owner, newest first. */
  keys: EncryptionKey[];
  rows: { id: string; sealed: Uint8Array }[];
  /** The job ends after this many matches. */
  mostMatches: number;
}

/** `content` is the JSON of a notification that matches. */
export type RowResult = { kind: 'no-match' } | { kind: 'match'; content: string } | { kind: 'damaged' };

/** The start of a job, the result of each row in order, and the end of the job. */
export type SearchReply =
  | { id: number; kind: 'begun' }
  | { id: number; kind: 'row'; result: RowResult }
  | { id: number; kind: 'end' };
