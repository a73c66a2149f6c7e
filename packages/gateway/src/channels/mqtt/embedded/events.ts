/** Events of the embedded broker, for the log and for acknowledgements. They contain neither passwords nor messages. */
export type BrokerEvent =
  | { kind: 'signed_in' | 'disconnected'; ownerId: string; deviceId: string; clientId: string; address: string }
  | { kind: 'sign_in_refused'; reason: SignInRefusal; address: string }
  /** A peer was disconnected: it violated the protocol, was too slow, or its device was revoked. */
  | { kind: 'dropped'; reason: string; address: string; deviceId: string | null }
  /** A client published to another topic than its own `ack`; reported once for each connection. */
  | { kind: 'publish_ignored'; ownerId: string; deviceId: string; clientId: string }
  | { kind: 'subscription_refused'; ownerId: string; deviceId: string; clientId: string }
  /** A device published to its `ack` topic. The payload is unchanged and untrusted. */
  | { kind: 'acknowledged'; ownerId: string; deviceId: string; clientId: string; payload: Buffer }
  /** A queue has reached its limit; reported once for each session or device. */
  | { kind: 'queue_full'; ownerId: string; deviceId: string; clientId: string }
  /** Messages were dropped: the queue was full, or their notification was deleted before the device received them. */
  | { kind: 'messages_dropped'; reason: 'queue_full' | 'notification_deleted'; count: number }
  | { kind: 'failed'; error: unknown };

export type SignInRefusal = 'credentials' | 'client_id' | 'too_many_failures' | 'too_many_connections' | 'store';
export type OnBrokerEvent = (event: BrokerEvent) => void;
