import type { Severity } from '@tocsin/contract';

/** What a reader finds in an event of a code host. */
export interface Facts {
  title: string;
  body?: string | undefined;
  /** null: there is no page. Default: the page of the repository or project. */
  url?: string | null | undefined;
  severity?: Severity | null | undefined;
  /** The thing within the repository or project that the event is about. */
  thread?: string | undefined;
  resolved?: boolean | undefined;
}
