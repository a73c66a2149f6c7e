// Test sends: a notification like any other, over one channel to one target.
import { flag, nullable, object, oneOf, type TypeOf, text } from './schema.ts';

export const testResult = object({
  isSent: flag(),
  /** How far it got, if it was sent. `queued` and `delivered` exist with the embedded broker only. */
  state: nullable(oneOf(['sent', 'queued', 'delivered'])),
  notificationId: text(),
  /** Why it was not sent. */
  error: nullable(text()),
});
export type TestResult = TypeOf<typeof testResult>;
