// What the main thread and the search thread send each other.
import type { SearchTerms } from '../../core/search-match.ts';
import type { EncryptionKey } from '../schema/database.ts';

export interface SearchJob {
  id: number;
  ownerId: string;
  terms: SearchTerms;
  /** All data keys of the owner. */
  keys: EncryptionKey[];
  rows: { id: string; sealed: Uint8Array }[];
  /** The job ends after this many matches. */
  mostMatches: number;
}

/** `content` is the JSON of a notification that matches. */
export type RowResult = { kind: 'no-match' } | { kind: 'match'; content: string } | { kind: 'damaged' };

/** A job begins, each of its rows is done, in their order, and it ends. */
export type SearchReply =
  | { id: number; kind: 'begun' }
  | { id: number; kind: 'row'; result: RowResult }
  | { id: number; kind: 'end' };
