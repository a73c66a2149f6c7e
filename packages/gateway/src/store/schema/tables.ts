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
    /** When the embedded broker last heard of it. */
    seen_at: number | null;
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
  /** Queues of the embedded broker; the text stays in the sealed row of the notification. */
  mqtt_waiting: {
    owner_id: string;
    device_id: string;
    /** Of a session; empty: the queue of the device itself. */
    client_id: string;
    notification_id: string;
    qos: number;
    /** Given before a QoS 2 message is sent: the client knows it by this id until the handshake is over. */
    message_id: number | null;
    /** `publish`, or `pubrel` once the client has confirmed a QoS 2 message. */
    state: string;
  };
  /** Which notifications a device has got from the embedded broker. */
  mqtt_receipts: {
    owner_id: string;
    notification_id: string;
    device_id: string;
    /** When the device acknowledged it; with QoS 0, when it was written to its socket. */
    delivered_at: number;
    qos: number;
  };
  notifications: { owner_id: string; id: string; created_at: number; sealed: Uint8Array };
  /** Whom a notification was to be told to at its first attempt, and how that went; none where there was nobody to tell. */
  dispatches: {
    owner_id: string;
    notification_id: string;
    /** JSON: ids of devices and push targets, never addresses or tokens. */
    targets: string;
    /** JSON: how each ended; null until it is known. */
    results: string | null;
    /** Null once settled. Whoever is to settle it has died when this has passed. */
    lease_until: number | null;
  };
  /** Targets that a first attempt did not reach. */
  deliveries: {
    owner_id: string;
    notification_id: string;
    channel: string;
    /** Id of a device or push target; empty for the mailbox of the owner. */
    target: string;
    /** `waiting`, `sent` or `dead`. */
    state: string;
    /** How often its turn came since the first attempt. */
    attempts: number;
    qos: number;
    created_at: number;
    /** When its turn comes; null once it is over. */
    next_at: number | null;
    /** Not to be tried before, even when the channel works again. */
    not_before: number;
    /** After this it is given up. */
    expires_at: number;
    /** When it was sent or given up. */
    ended_at: number | null;
    /** The last error. */
    sealed: Uint8Array;
  };
  /** One for each target that something waits for: who holds it sends to that target, in order. */
  delivery_lanes: {
    owner_id: string;
    channel: string;
    target: string;
    /** The earliest of what waits; while the lane is held, the end of its lease, unless it was hastened. */
    next_at: number;
    /** Counts what was put in. */
    version: number;
    /** 0 while nobody holds it. */
    lease_until: number;
    /** 1 while its holder sends the last of it: until that is known nothing joins. */
    closing: number;
  };
  idempotency: {
    owner_id: string;
    key_digest: string;
    fingerprint: string;
    notification_id: string;
    /** The request that came first is being answered until then, if its process lives. */
    lease_until: number;
    expires_at: number;
    /** The first answer; null until it is known. */
    sealed: Uint8Array | null;
  };
  /** How far an owner has read, and a counter that every change of what is read or deleted moves. */
  inbox_states: {
    owner_id: string;
    /** Notifications up to this id are read, unless a mark says otherwise; empty: none. */
    read_through: string;
    generation: number;
    /** How far everything was read before the last "mark all read", and how far that went; null: nothing to undo. */
    undo_read_through: string | null;
    undo_through: string | null;
  };
  /** What is known of single notifications beyond that; most have none. */
  inbox_marks: {
    owner_id: string;
    notification_id: string;
    is_read: number | null;
    /** `is_read` before the last "mark all read", which the owner may undo. */
    undo_is_read: number | null;
    /** Out of sight since then, and gone for good with the next purge. */
    deleted_at: number | null;
  };
  sessions: {
    owner_id: string;
    id: string;
    token_digest: string;
    created_at: number;
    seen_at: number;
    expires_at: number;
    sealed: Uint8Array;
  };
  one_time_links: {
    owner_id: string;
    token_digest: string;
    created_at: number;
    expires_at: number;
    sealed: Uint8Array;
  };
  passkeys: {
    owner_id: string;
    id: string;
    credential_digest: string;
    counter: number;
    created_at: number;
    used_at: number | null;
    sealed: Uint8Array;
  };
  oidc_identities: {
    owner_id: string;
    id: string;
    subject_digest: string;
    created_at: number;
    sealed: Uint8Array;
  };
  /** Which versions of the rows above that decide who may do what are in force, see `row-versions.ts`. */
  row_versions: { id: string; sealed: Uint8Array };
  used_signatures: { owner_id: string; signature: string; expires_at: number };
  /** Requests of a key in the window that is under way, where several processes share its limit. */
  request_counts: { owner_id: string; key_id: string; window_ms: number; used: number; resets_at: number };
}
