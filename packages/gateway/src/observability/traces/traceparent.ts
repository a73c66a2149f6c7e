// The header of W3C Trace Context, with which a caller says which trace a request belongs to.

export interface TraceParent {
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

const zeros = /^0+$/;

/** null for what is missing or not valid: the request then starts a trace of its own, as the standard asks. */
export function parseTraceParent(header: string | string[] | undefined): TraceParent | null {
  if (typeof header !== 'string') return null;
  const [, version, traceId = '', spanId = '', flags = '', rest] =
    /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/.exec(header.trim()) ?? [];
  // Later versions may say more at the end; this one may not.
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null;
  if (zeros.test(traceId) || zeros.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
