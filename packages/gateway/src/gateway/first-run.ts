// An empty store gets its first owner, key and device, so that a fresh clone rings with one pasted line.
import { linkLifetimes, type MadeLink, makeLink } from './one-time-links.ts';
import type { Store } from './ports.ts';
import {
  type CreatedDevice,
  type CreatedKey,
  createDevice,
  createFirstOwner,
  createKey,
  type Makers,
} from './registration.ts';

export interface FirstRun {
  ownerId: string;
  key: CreatedKey;
  device: CreatedDevice;
  /** Opens the inbox, once. */
  signIn: MadeLink;
}

/** null when there are owners already. */
export async function prepareFirstRun(
  store: Store,
  makers: Makers,
  options: { firstKey: string | null; topicPrefix: string; urls: string[]; consoleUrl: string },
): Promise<FirstRun | null> {
  const owner = await createFirstOwner(store, makers, { name: 'First owner', email: null, emailAlerts: false });
  if (owner === null) return null;
  const key = await createKey(store, makers, {
    ownerId: owner.id,
    type: 'public_client',
    label: 'First key',
    value: options.firstKey,
  });
  const device = await createDevice(store, makers, {
    ownerId: owner.id,
    name: 'First device',
    topicPrefix: options.topicPrefix,
    urls: options.urls,
  });
  const link = { ownerId: owner.id, method: 'link', lifetimeMs: linkLifetimes.firstRun, now: makers.now() } as const;
  return { ownerId: owner.id, key, device, signIn: await makeLink(store, link, options.consoleUrl) };
}
