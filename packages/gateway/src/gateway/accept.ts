// One notification, from the caller's request to the answer: plan → save → deliver → answer.
import type { ChannelReport, NormalizedRequest, StoreReason } from '@tocsin/contract';
import { report } from '../core/answer.ts';
import { plan } from '../core/plan.ts';
import { Refusal } from '../core/refusal.ts';
import { deliver } from './deliver.ts';
import type { Directory } from './directory.ts';
import {
  type Channels,
  EncryptionKeyMissing,
  type Notification,
  type NotificationStore,
  StoreUnavailable,
} from './ports.ts';

export type Accept = (ownerId: string, request: NormalizedRequest) => Promise<Accepted>;
export type Accepted = ChannelReport & { id: string };

export interface AcceptParts {
  store: NotificationStore;
  directory: Pick<Directory, 'recipientsOf'>;
  channels: Channels;
  newId: () => string;
  now: () => number;
  onStoreFailure: (reason: StoreReason, error: Error) => void;
}

export function createAccept(parts: AcceptParts): Accept {
  return async (ownerId, request) => {
    const recipients = await parts.directory.recipientsOf(ownerId);
    const route = plan(request, recipients);
    const notification: Notification = {
      id: parts.newId(),
      ownerId,
      createdAt: parts.now(),
      title: request.title,
      body: request.body,
      source: request.source,
      category: request.category,
      severity: request.severity,
      data: request.data,
    };
    const storeReason = await save(parts, notification);
    const result = await deliver(parts.channels, notification, route, {
      qos: request.mqttQos,
      customBroker: request.customBroker,
      ...(storeReason !== null && { isStored: false }),
    });
    const answer = { id: notification.id, ...report(request, route, storeReason, result) };
    if (request.strictDelivery && answer.mqttFailedCount > 0) {
      throw new Refusal('mqtt_publish_failed', { report: answer });
    }
    return answer;
  };
}

/** A store that fails does not silence the bells: the caller is told, and the channels still run. */
async function save(parts: AcceptParts, notification: Notification): Promise<StoreReason | null> {
  try {
    await parts.store.save(notification);
    return null;
  } catch (error) {
    if (error instanceof EncryptionKeyMissing) {
      parts.onStoreFailure('encryption_key_missing', error);
      return 'encryption_key_missing';
    }
    if (error instanceof StoreUnavailable) {
      parts.onStoreFailure('store_unavailable', error);
      return 'store_unavailable';
    }
    throw error;
  }
}
