import type { AcceptedContent, Original } from '@tocsin/contract';

export interface Notification {
  id: string;
  ownerId: string;
  createdAt: number;
  content: AcceptedContent;
}

/** The data as the owner sees it in full: with what was sent to a hook. */
export function fullData<Data>({ data }: { data: Data }, original: Original | null): Data | (Data & Original) {
  return original === null ? data : { ...data, ...original };
}
