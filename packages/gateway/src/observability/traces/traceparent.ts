// The traceparent header of W3C Trace Context, with which a caller continues its trace.

export interface TraceParent {
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

const zeros = /^0+$/;

/** null if it is missing or invalid: the request then starts a new trace, as the standard requires. */
export function parseTraceParent(header: string | string[] | undefined): TraceParent | null {
  if (typeof header !== 'string') return null;
  const [, version, traceId = '', spanId = '', flags = '', rest] =
    /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/.exec(header.trim()) ?? [];
  // Only later versions may have additional fields.
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null;
  if (zeros.test(traceId) || zeros.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
