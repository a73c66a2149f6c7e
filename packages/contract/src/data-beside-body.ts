import type { JsonObject } from './types.ts';

/**
 * The data to show beside the body of a notification. If `message` is used as the body it also stays in the data (section
 * 2.1); it is omitted here, so that the text is not shown twice. A message that was truncated for the body is kept.
 */
export function dataBesideBody({ body, data }: { body: string; data: JsonObject }): JsonObject {
  const { message } = data;
  const isShown =
    body !== '' && message !== null && typeof message !== 'object' && String(message ?? '').trim() === body;
  if (!isShown) return data;
  const { message: _, ...rest } = data;
  return rest;
}
