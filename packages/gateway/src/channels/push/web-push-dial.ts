/**
 * Posts to a push service whose address a subscription brought along. It resolves the name, refuses addresses that are
 * not public, keeps to the address it checked, verifies TLS and follows no redirect. Rejects with EgressRefused
 * where the address is refused, and with another Error where it cannot be reached. Names of headers in the answer are in lower case.
 */
export type WebPushDial = (
  url: URL,
  request: { headers: Record<string, string>; body: Buffer },
  signal: AbortSignal,
) => Promise<{ status: number; headers: Readonly<Record<string, string | string[] | undefined>> }>;
