import { type ChannelReport, type ErrorCode, type ErrorDetail, errors } from '@tocsin/contract';

/** A request that is refused with an error code. Only `http/errors.ts` turns it into a response. */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetail[];
  readonly headers: Record<string, string>;
  /** Only with `mqtt_publish_failed`: the notification that was stored, and what happened on each channel. */
  readonly report: (ChannelReport & { id: string }) | null;

  constructor(
    code: ErrorCode,
    more: {
      suffix?: string;
      details?: ErrorDetail[];
      headers?: Record<string, string>;
      report?: ChannelReport & { id: string };
    } = {},
  ) {
    super(more.suffix === undefined ? errors[code].text : `${errors[code].text}: ${more.suffix}`);
    this.name = 'Refusal';
    this.code = code;
    this.details = more.details ?? [];
    this.headers = more.headers ?? {};
    this.report = more.report ?? null;
  }
}

/** The store did not respond. The status is that of an invalid key; callers recognize this case by Retry-After. */
export function authenticationUnavailable(): Refusal {
  return new Refusal('authentication_unavailable', { headers: { 'Retry-After': '2' } });
}
