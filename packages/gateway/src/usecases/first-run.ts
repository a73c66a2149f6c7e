// Creates the first owner, key and device in an empty store, so that a fresh clone can send a notification at once.
//
// The values that are shown once are stored, encrypted with the master key, until they have been shown: if a start is
// killed before that, the next one shows the same key and password.
import { createKey as createKeyValue, randomBase62 } from '../core/key-format.ts';
import { linkLifetimes, type MadeLink, makeLink } from './one-time-links.ts';
import { KeyExists, type Store, StoreUnavailable } from './ports/index.ts';
import {
  type CreatedDevice,
  type CreatedKey,
  createDevice,
  createFirstOwner,
  createKey,
  type Environment,
  mqttSettings,
  newId,
} from './registration.ts';

export interface FirstRun {
  ownerId: string;
  key: Pick<CreatedKey, 'value'>;
  device: CreatedDevice;
  /** One-time link to the inbox. */
  signIn: MadeLink;
}

interface FirstRunOptions {
  firstKey: string | null;
  topicPrefix: string;
  urls: string[];
  consoleUrl: string;
}

/** Values for resuming an interrupted first run. */
interface Pending {
  ownerId: string;
  key: string;
  deviceId: string;
  password: string;
}

const secretName = 'first_run';

/** null if there are owners already. Returns the same values until `endFirstRun` is called. */
export async function prepareFirstRun(
  store: Store,
  environment: Environment,
  options: FirstRunOptions,
): Promise<FirstRun | null> {
  if ((await store.secrets.find(secretName)) === null && (await store.owners.hasAny())) return null;
  const newPending = (): Pending => ({
    ownerId: newId('own', environment),
    key: createKeyValue(environment.randomIndex),
    deviceId: newId('dev', environment),
    password: randomBase62(32, environment.randomIndex),
  });
  const pending = JSON.parse(await store.secrets.obtain(secretName, () => JSON.stringify(newPending()))) as Pending;
  const { ownerId } = pending;
  await createFirstOwner(store, environment, { id: ownerId, name: 'First owner', email: null, emailAlerts: false });
  if ((await store.owners.find(ownerId)) === null) {
    // Another process has created the first owner in the meantime.
    await store.secrets.delete(secretName);
    return null;
  }
  const key = await ensureKey(store, environment, ownerId, options.firstKey ?? pending.key);
  const device = await ensureDevice(store, environment, pending, options);
  const link = { ownerId, method: 'link', lifetimeMs: linkLifetimes.firstRun, now: environment.now() } as const;
  return { ownerId, key, device, signIn: await makeLink(store, link, options.consoleUrl) };
}

/** Must be called after the values were shown. */
export async function endFirstRun(store: Pick<Store, 'secrets'>): Promise<void> {
  try {
    await store.secrets.delete(secretName);
  } catch (error) {
    // The next start then shows the values again.
    if (!(error instanceof StoreUnavailable)) throw error;
  }
}

async function ensureKey(
  store: Store,
  environment: Environment,
  ownerId: string,
  value: string,
): Promise<FirstRun['key']> {
  try {
    return await createKey(store, environment, { ownerId, type: 'public_client', label: 'First key', value });
  } catch (error) {
    if (error instanceof KeyExists) return { value };
    throw error;
  }
}

async function ensureDevice(
  store: Store,
  environment: Environment,
  { ownerId, deviceId: id, password }: Pending,
  { topicPrefix, urls }: FirstRunOptions,
): Promise<CreatedDevice> {
  const where = { topicPrefix, urls };
  const find = async (): Promise<CreatedDevice | undefined> => {
    const device = (await store.devices.list(ownerId)).find((each) => each.id === id);
    return device && { device, mqtt: mqttSettings(device, password, where) };
  };
  const found = await find();
  if (found !== undefined) return found;
  try {
    return await createDevice(store, environment, { ownerId, name: 'First device', ...where, id, password });
  } catch (error) {
    // Another node on the same database may have created the device.
    const made = await find();
    if (made === undefined) throw error;
    return made;
  }
}
