// One event of another program, from the request to the response: read → plan → save → respond. It is delivered after the response,
// since senders wait between one second and thirty.
import { createHmac } from 'node:crypto';
import { dayMs } from '../core/duration.ts';
import { plan, takesPart } from '../core/plan.ts';
import { Refusal } from '../core/refusal.ts';
import { deliveryIdOf } from '../senders/delivery-id.ts';
import { isIgnored, type Preset, type SenderEvent, type SenderRequest } from '../senders/event.ts';
import { readEvent } from '../senders/presets/index.ts';
import { toRequest } from '../senders/to-request.ts';
import { type AcceptDeps, createStorePlanned } from './accept.ts';
import type { Hook, IdempotencyClaim, IdempotencyRepository } from './ports/index.ts';

export interface ReceiveDeps extends AcceptDeps {
  idempotency: Pick<IdempotencyRepository, 'find'>;
  /** A preset failed on an event, which was read by the generic rule instead. */
  onPresetFailed(preset: string, error: unknown): void;
  /** The event is stored, and its delivery failed unexpectedly. */
  onDeliveryFailed(error: unknown): void;
}

/** Who sends an event: a hook, or an API key at the address of a dialect. */
export type EventSender = Pick<
  Hook,
  'id' | 'ownerId' | 'name' | 'preset' | 'severity' | 'disabledChannels' | 'repeatSeconds'
>;

export interface SenderCredential {
  sender: EventSender;
  /** The token of the hook, or the API key, as the request has it. */
  token: string;
}

export interface IncomingEvent {
  request: SenderRequest;
  /** null: the generic rule. */
  preset: Preset | null;
  requestId: string;
}

export type Received =
  | { kind: 'stored'; id: string; event: SenderEvent }
  /** The event was stored before. */
  | { kind: 'repeated'; id: string; event: SenderEvent }
  | { kind: 'ignored'; reason: string };

export interface Receiver {
  /** Refuses with `service_unavailable` if the event could not be stored: the sender has to repeat it. */
  receive(credential: SenderCredential, incoming: IncomingEvent): Promise<Received>;
  /** Resolves when everything that was received is delivered, or queued for a retry. */
  close(): Promise<void>;
}

export function createReceiver(deps: ReceiveDeps): Receiver {
  const storePlanned = createStorePlanned(deps);
  const definitions = deps.definitions.filter((channel) => takesPart(channel, deps.isConfigured));
  const delivering = new Set<Promise<unknown>>();

  function deliverLater(deliver: () => Promise<unknown>): void {
    const delivery = deliver()
      .catch(deps.onDeliveryFailed)
      .finally(() => delivering.delete(delivery));
    delivering.add(delivery);
  }

  return {
    async receive(credential, { request, preset, requestId }) {
      const { sender } = credential;
      const event = readEvent(preset, request, deps.onPresetFailed);
      if (isIgnored(event)) return { kind: 'ignored', reason: event.ignored };
      const normalized = toRequest(event, request, sender);
      const { ownerId } = sender;
      const recipients = await deps.directory.recipientsOf(ownerId);
      const now = deps.now();
      const planned = event.silent === true ? [] : plan(definitions, normalized, recipients, now);
      const idempotency = claimOf(credential, event, request, now);
      const stored = await storePlanned({ ownerId, requestId, request: normalized, idempotency }, planned, now);
      if (stored === 'duplicate') {
        const first = idempotency && (await deps.idempotency.find(ownerId, idempotency.keyDigest, now));
        return { kind: 'repeated', id: first?.notificationId ?? '', event };
      }
      if (stored.storeReason !== null) {
        stored.cancel();
        throw notStored();
      }
      deliverLater(stored.deliver);
      return { kind: 'stored', id: stored.id, event };
    },

    async close() {
      await Promise.all(delivering);
    },
  };
}

function notStored(): Refusal {
  return new Refusal('service_unavailable', { headers: { 'Retry-After': '5' } });
}

/**
 * A delivery id with another body is a new event. Without a delivery id, an identical body is the same delivery for a short
 * time; later the sender repeats it on purpose, as Alertmanager does every few hours. null: every request is a new event.
 */
function claimOf(
  { sender, token }: SenderCredential,
  event: SenderEvent,
  { method, path, body, ...request }: SenderRequest,
  now: number,
): IdempotencyClaim | null {
  const deliveryId = event.idempotencyKey ?? deliveryIdOf(request);
  if (deliveryId === undefined && sender.repeatSeconds === 0) return null;
  // The token is not stored, so an attacker with the database cannot guess bodies.
  const digestOf = (...parts: readonly (string | null)[]): string =>
    createHmac('sha256', token).update(JSON.stringify(parts)).digest('base64url');
  const content = event.original === undefined ? body.text : JSON.stringify(event.original);
  const fingerprint = digestOf(method, path, content);
  return {
    keyDigest: digestOf(sender.id, deliveryId ?? null, fingerprint),
    fingerprint,
    expiresAt: now + (deliveryId === undefined ? sender.repeatSeconds * 1000 : dayMs),
  };
}
