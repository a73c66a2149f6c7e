import type { Category, JsonObject, Severity } from '@tocsin/contract';

export interface NotificationContent {
  title: string;
  body: string;
  source: string;
  category: Category;
  severity: Severity | null;
  data: JsonObject;
}

export interface Notification extends NotificationContent {
  id: string;
  ownerId: string;
  createdAt: number;
}
