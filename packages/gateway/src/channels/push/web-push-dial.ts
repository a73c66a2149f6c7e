/**
 * Posts to a push service whose address comes from a subscription. It resolves the name, refuses addresses that are not
 * public, connects to the checked address only, verifies TLS and follows no redirect. Rejects with EgressRefused if the
 * address is refused, and with another Error if it cannot be reached. Header names in the response are in lower case.
 */
export type WebPushDial = (
  url: URL,
  request: { headers: Record<string, string>; body: Buffer },
  signal: AbortSignal,
) => Promise<{ status: number; headers: Readonly<Record<string, string | string[] | undefined>> }>;
