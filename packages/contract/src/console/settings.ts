// The preferences of an owner and the email address.
import type { Operation } from './route.ts';
import {
  checked,
  flag,
  integer,
  nullable,
  object,
  optionalLine,
  type TypeOf,
  text,
  withDefault,
  withMembers,
} from './schema.ts';
import { testResult } from './test-result.ts';

/** The longest retention that an owner can choose. */
export const maxRetentionDays = 36_500;

const quietSpan = object({
  /** HH:MM */
  from: text(),
  to: text(),
});
export type QuietSpanEntry = TypeOf<typeof quietSpan>;

const quietSpanOrNull = nullable(checked(quietSpan, 'quietSpan'));

const preferences = object({
  name: text({ line: 100 }),
  emailAlerts: flag(),
  quietHours: withDefault(
    nullable(
      /** Each further member is the span of a channel, by name. */
      withMembers(object({ timeZone: text({ check: 'timeZone' }) }), quietSpanOrNull),
    ),
    null,
  ),
  /** null: the retention of the service. */
  retentionDays: withDefault(nullable(integer({ minimum: 1, maximum: maxRetentionDays })), null),
});
export type Preferences = TypeOf<typeof preferences>;

/** One plain email address, or none. */
export const optionalEmail = optionalLine(254, { check: 'emailAddress' });

const emailChange = object({
  email: nullable(text()),
  /** A link was sent to the new address; the address changes when it is opened. */
  confirmation: flag(),
});
export type EmailChange = TypeOf<typeof emailChange>;

export const settingsOperations = {
  getPreferences: { response: preferences },
  updatePreferences: { body: preferences, response: preferences },
  /**
   * With an SMTP server the new address gets a confirmation link; without one it takes effect immediately, or is refused
   * with 409 conflict if an OpenID provider identifies owners by their address.
   */
  changeEmail: { body: object({ email: optionalEmail }), response: emailChange },
  sendTestEmail: { response: testResult },
} as const satisfies Record<string, Operation>;
