import type { JsonObject } from './types.ts';

/**
 * The data to show beside the body of a notification. `message` stands in for the body and stays in the data (section 2.1),
 * so people would read the same text twice. A text that had to be shortened for the body stays.
 */
export function dataBesideBody({ body, data }: { body: string; data: JsonObject }): JsonObject {
  const { message } = data;
  const isShown =
    body !== '' && message !== null && typeof message !== 'object' && String(message ?? '').trim() === body;
  if (!isShown) return data;
  const { message: _, ...rest } = data;
  return rest;
}
