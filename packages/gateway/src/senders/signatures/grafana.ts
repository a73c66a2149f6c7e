// Grafana signs the body, or `<unix seconds>:<body>` if its operator chose a header for the time. That header has no
// default name, so every header with a time in seconds is tried.
import type { SignedRequest } from '../event.ts';
import { hexHmacProblem } from './hmac-hex.ts';
import { timestampProblem } from './timestamp.ts';

const header = 'x-grafana-alerting-signature';

export function grafanaSignatureProblem({ request: { headers }, rawBody, secret, now }: SignedRequest): string | null {
  const signature = headers[header]?.trim();
  const problemOf = (signed: Buffer): string | null => hexHmacProblem({ header, signature, signed, secret });
  const time = Object.values(headers)
    .filter((value) => value !== undefined && /^\d{10}$/.test(value))
    .find((value) => problemOf(Buffer.concat([Buffer.from(`${value}:`), rawBody])) === null);
  if (time !== undefined) return timestampProblem(time, now);
  // Otherwise the signature of an old request would be valid again for a body that starts with the time.
  if (/^\d+:/.test(rawBody.toString('latin1', 0, 16))) return 'the header with the timestamp is missing';
  return problemOf(rawBody);
}
