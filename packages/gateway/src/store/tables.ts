// The rows as they lie in the database, the same on every backend: times are milliseconds, flags are 0 or 1, and what a
// person wrote is sealed. Every table is keyed by owner first, so that a distributed database can shard by it.

export interface Tables {
  /** One row per fact about the database itself. */
  meta: { name: string; value: Uint8Array };
  /** One row, counted up by every change of owners, keys or devices. */
  changes: { id: number; generation: number };
  owners: { id: string; created_at: number; sealed: Uint8Array };
  data_keys: { owner_id: string; version: number; wrapped: Uint8Array; created_at: number };
  api_keys: {
    owner_id: string;
    id: string;
    digest: string;
    irregular: number;
    created_at: number;
    sealed: Uint8Array;
  };
  devices: {
    owner_id: string;
    id: string;
    state: string;
    paused: number;
    secret_digest: string;
    created_at: number;
    sealed: Uint8Array;
  };
  push_targets: {
    owner_id: string;
    id: string;
    provider: string;
    /** Set when the provider said that the token is no more. */
    disabled_at: number | null;
    created_at: number;
    sealed: Uint8Array;
  };
  /** Subscriptions that a device's MQTT client left with the embedded broker. */
  mqtt_sessions: { owner_id: string; device_id: string; client_id: string; subscriptions: string; updated_at: number };
  /** Messages that wait for such a client; the text stays in the sealed row of the notification. */
  mqtt_waiting: {
    owner_id: string;
    device_id: string;
    client_id: string;
    notification_id: string;
    qos: number;
    /** Given before a QoS 2 message is sent: the client knows it by this id until the handshake is over. */
    message_id: number | null;
    /** `publish`, or `pubrel` once the client has confirmed a QoS 2 message. */
    state: string;
  };
  notifications: { owner_id: string; id: string; created_at: number; sealed: Uint8Array };
  used_signatures: { owner_id: string; signature: string; expires_at: number };
}
