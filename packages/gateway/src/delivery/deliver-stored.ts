// Telling one target of a stored notification, some time after it was accepted: as the target is now.

import type { Outcome } from '../core/outcome.ts';
import type { Recipients } from '../core/plan.ts';
import {
  type Channels,
  DecryptionFailed,
  type Delivery,
  EncryptionKeyMissing,
  type Notification,
  type Store,
} from '../usecases/ports/index.ts';
import { deliver } from './deliver.ts';
import { resolveTarget } from './dispatch.ts';
import type { Recovery } from './recovery.ts';

export interface TellParts {
  store: Pick<Store, 'notifications'>;
  channels: Channels;
  recovery: Pick<Recovery, 'note'>;
  onFailed: (error: unknown) => void;
}

export type Tell = (
  notification: Notification,
  recipients: Recipients,
  to: Pick<Delivery, 'channel' | 'target' | 'qos'>,
) => Promise<Outcome>;

export function createTell({ channels, recovery }: Pick<TellParts, 'channels' | 'recovery'>): Tell {
  return async (notification, recipients, { channel, target, qos }) => {
    const resolved = resolveTarget(recipients, { channel, target });
    if ('kind' in resolved) return resolved;
    const result = await deliver(channels, notification, resolved, { qos, customBroker: null });
    recovery.note(result);
    return result[channel][0] as Outcome;
  };
}

/** null when it was deleted, or does not open: then nobody can be told of it. */
export async function findReadable(
  { store, onFailed }: Pick<TellParts, 'store' | 'onFailed'>,
  ownerId: string,
  id: string,
): Promise<Notification | null> {
  try {
    return await store.notifications.find(ownerId, id);
  } catch (error) {
    if (!(error instanceof DecryptionFailed || error instanceof EncryptionKeyMissing)) throw error;
    onFailed(error);
    return null;
  }
}
