// The pace of callers that send one request after another for as long as a test takes.
import { setTimeout as delay } from 'node:timers/promises';

/**
 * The pause of a caller between two requests. Of several callers some have a request in flight at any moment, and the
 * processor is left to the processes under test: without a pause, a load takes as much processor time as the test is long.
 */
export const pauseMs = 5;

export function pauseBetweenRequests(): Promise<void> {
  return delay(pauseMs);
}
