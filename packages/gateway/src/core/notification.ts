import type { AcceptedContent } from '@tocsin/contract';

export interface Notification {
  id: string;
  ownerId: string;
  createdAt: number;
  content: AcceptedContent;
}
