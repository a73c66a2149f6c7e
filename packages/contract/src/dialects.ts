// Addresses that speak the protocols of other notification servers (docs/senders.md).

/** First segments of paths that are not topics of ntfy. */
export const reservedSegments: ReadonlySet<string> = new Set([
  'in',
  'ntfy',
  'message',
  'notify',
  'ping',
  'v1',
  '1',
  'application',
  'client',
  'current',
  'stream',
  'version',
  'health',
  'gotifyinfo',
  'static',
  'user',
  'auth',
  'metrics',
  'api',
]);
