import { type ChannelReport, type ErrorCode, type ErrorDetail, errors } from '@tocsin/contract';

/** A request that is not served, for a reason the caller is told. `http/errors.ts` alone turns it into an answer. */
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

/** The store did not answer. The status is that of a wrong key, so Retry-After tells the two apart for a caller. */
export function authenticationUnavailable(): Refusal {
  return new Refusal('authentication_unavailable', { headers: { 'Retry-After': '2' } });
}
