// Delivers a stored notification to one target, some time after it was accepted: to the target as it is now.
import type { ChannelDefinitions, Channels } from '../core/channel.ts';
import { type Outcome, retry } from '../core/outcome.ts';
import type { Recipients } from '../core/recipients.ts';
import {
  DecryptionFailed,
  type Delivery,
  EncryptionKeyMissing,
  type Notification,
  type Store,
} from '../usecases/ports/index.ts';
import { channelNamed, sendTo } from './deliver.ts';
import type { Recovery } from './recovery.ts';

export interface DeliverStoredDeps {
  definitions: ChannelDefinitions;
  channels: Channels;
  recovery: Pick<Recovery, 'note'>;
}

export type DeliverStored = (
  notification: Notification,
  recipients: Recipients,
  to: Pick<Delivery, 'channel' | 'target' | 'qos'>,
) => Promise<Outcome>;

export function createDeliverStored({ definitions, channels, recovery }: DeliverStoredDeps): DeliverStored {
  return async (notification, recipients, { channel, target: targetId, qos }) => {
    const definition = definitions.find(({ name }) => name === channel);
    if (definition === undefined) return retry('not_attempted', `This version does not have the channel ${channel}`);
    const target = definition.resolve(recipients, targetId);
    if ('kind' in target) return target;
    const options = { qos, customBroker: null };
    const outcomes = await sendTo(channelNamed(channels, channel), notification, [target], options);
    recovery.note({ [channel]: outcomes });
    return outcomes[0] as Outcome;
  };
}

/** null when the notification was deleted or cannot be decrypted, so that it can never be sent. */
export async function findReadable(
  { store, onFailed }: { store: Pick<Store, 'notifications'>; onFailed: (error: unknown) => void },
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
