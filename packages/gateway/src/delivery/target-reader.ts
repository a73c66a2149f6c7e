import type { TargetReader } from '../core/channel.ts';
import type { Owner, Store } from '../usecases/ports/index.ts';

/** Reads the targets of one owner. Rows that cannot be decrypted have no name. */
export function targetReader(
  store: Pick<Store, 'devices' | 'pushTargets' | 'mqttQueues'>,
  { id, email }: Pick<Owner, 'id' | 'email'>,
): TargetReader {
  return {
    email: () => email,
    devices: () => store.devices.list(id, skipDamaged),
    pushTargets: () => store.pushTargets.list(id, skipDamaged),
    mqttProgress: (notificationId, deviceIds) => store.mqttQueues.findProgress(id, notificationId, deviceIds),
  };
}

function skipDamaged(): void {
  // Reported where owners and operators manage the targets.
}
