// Ids for senders that expect one in the response.
import { createHash } from 'node:crypto';
import type { EventBody } from './event.ts';

const idCharacters = 32;

/** Repeated requests get the same id. */
export function idOfBody({ text }: EventBody): string {
  return createHash('sha256').update(text).digest('hex').slice(0, idCharacters);
}
