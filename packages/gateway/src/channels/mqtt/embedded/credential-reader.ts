// Reads the credentials of devices. Devices that sign in at the same time share a read: after a restart of the gateway
// thousands do.
import type { DeviceCredentials, DeviceRepository } from '../../../usecases/ports/index.ts';

/** Devices per read; small, so that other reads are not delayed. */
const maxIds = 500;

type Devices = Pick<DeviceRepository, 'listCredentials'>;

export class CredentialReader {
  readonly #devices: Devices;
  /** Lookups for which no read has begun. */
  #waiting = new Map<string, PromiseWithResolvers<DeviceCredentials | null>>();
  #isReading = false;

  constructor(devices: Devices) {
    this.#devices = devices;
  }

  /** null if there is no such device. Rejects when the store fails. */
  find(deviceId: string): Promise<DeviceCredentials | null> {
    const known = this.#waiting.get(deviceId);
    if (known !== undefined) return known.promise;
    const lookup = Promise.withResolvers<DeviceCredentials | null>();
    this.#waiting.set(deviceId, lookup);
    if (!this.#isReading) void this.#run();
    return lookup.promise;
  }

  async #run(): Promise<void> {
    this.#isReading = true;
    // The lookups of this turn of the event loop share the first read.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.size > 0) {
      const lookups = this.#waiting;
      this.#waiting = new Map();
      try {
        const found = await listCredentials(this.#devices, [...lookups.keys()]);
        for (const [id, { resolve }] of lookups) resolve(found.get(id) ?? null);
      } catch (error) {
        for (const { reject } of lookups.values()) reject(error);
      }
    }
    this.#isReading = false;
  }
}

export async function listCredentials(
  devices: Devices,
  ids: readonly string[],
): Promise<Map<string, DeviceCredentials>> {
  const found = new Map<string, DeviceCredentials>();
  for (let first = 0; first < ids.length; first += maxIds) {
    for (const device of await devices.listCredentials(ids.slice(first, first + maxIds))) found.set(device.id, device);
  }
  return found;
}
