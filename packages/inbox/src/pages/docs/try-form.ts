// Converts the try-it form to the request. Fields with their default value are omitted.
import type { Category, Severity } from '@tocsin/contract/fields';
import type { JsonObject, NotificationRequest } from '@tocsin/contract/types';

export interface TryForm {
  key: string;
  isSigned: boolean;
  title: string;
  body: string;
  severity: Severity | 'none';
  category: Category;
  data: string;
  sendPush: boolean;
  sendEmail: 'account' | 'yes' | 'no';
  sendMqtt: boolean;
  strictDelivery: boolean;
}

export const emptyTryForm: TryForm = {
  key: '',
  isSigned: false,
  title: 'Hello from the API page',
  body: '',
  severity: 'none',
  category: 'info',
  data: '',
  sendPush: true,
  sendEmail: 'account',
  sendMqtt: true,
  strictDelivery: false,
};

/** Returns null if the data is not a JSON object. */
export function readTryForm(form: TryForm): NotificationRequest | null {
  const data = readData(form.data);
  if (data === null) return null;
  return {
    ...(form.title !== '' && { title: form.title }),
    ...(form.body !== '' && { body: form.body }),
    ...(form.severity !== 'none' && { severity: form.severity }),
    ...(form.category !== 'info' && { category: form.category }),
    ...(Object.keys(data).length > 0 && { data }),
    ...(!form.sendPush && { sendPush: false }),
    ...(form.sendEmail !== 'account' && { sendEmail: form.sendEmail === 'yes' }),
    ...(!form.sendMqtt && { sendMqtt: false }),
    ...(form.strictDelivery && { strictDelivery: true }),
  };
}

function readData(text: string): JsonObject | null {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}
