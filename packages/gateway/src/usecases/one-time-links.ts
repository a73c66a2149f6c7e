// Links that work once: from the first run, the command line, the console, and mails. Only the digest of what is in
// them is stored, and it stands behind the #, which browsers do not send and proxies do not log.

import { randomBytes } from 'node:crypto';
import { dayMs, minuteMs } from '../core/duration.ts';
import { digestOf } from '../core/key-format.ts';
import type { OneTimeLink, Store } from './ports/index.ts';

export const linkLifetimes = {
  firstRun: dayMs,
  commandLine: 15 * minuteMs,
  phone: 5 * minuteMs,
  mail: 15 * minuteMs,
  /** To somebody who does not wait for it. */
  invitation: dayMs,
  confirmation: dayMs,
} as const;

export interface MadeLink {
  url: string;
  expiresAt: number;
}

/** `consoleUrl` is without a path. */
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
