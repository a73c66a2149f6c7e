// One-time links: from the first run, the command line, the console, and emails. Only the digest of the token is stored. The
// token is in the fragment of the URL, which browsers do not send and proxies do not log.

import { randomBytes } from 'node:crypto';
import { dayMs, minuteMs } from '../core/duration.ts';
import { digestOf } from '../core/key-format.ts';
import type { OneTimeLink, Store } from './ports/index.ts';

export const linkLifetimes = {
  firstRun: dayMs,
  commandLine: 15 * minuteMs,
  phone: 5 * minuteMs,
  mail: 15 * minuteMs,
  /** Longer, because the recipient does not expect it. */
  invitation: dayMs,
  confirmation: dayMs,
} as const;

export interface MadeLink {
  url: string;
  expiresAt: number;
}

/** `consoleUrl` has no path. */
export async function makeLink(
  store: Pick<Store, 'oneTimeLinks'>,
  wanted: Pick<OneTimeLink, 'ownerId' | 'method'> & { confirms?: string; lifetimeMs: number; now: number },
  consoleUrl: string,
): Promise<MadeLink> {
  const token = randomBytes(32).toString('base64url');
  const expiresAt = wanted.now + wanted.lifetimeMs;
  await store.oneTimeLinks.create({
    tokenDigest: digestOf(token),
    ownerId: wanted.ownerId,
    purpose: wanted.confirms === undefined ? 'sign_in' : 'confirm_email',
    method: wanted.method,
    email: wanted.confirms ?? null,
    createdAt: wanted.now,
    expiresAt,
  });
  return { url: `${consoleUrl}/sign-in#${token}`, expiresAt };
}
