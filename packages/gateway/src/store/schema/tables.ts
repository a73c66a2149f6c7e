// The rows of the database, the same on both backends: times are milliseconds, flags are 0 or 1, and personal data is
// encrypted (column `sealed`). Primary keys start with the owner, so that a distributed database can shard by it.

export interface Tables {
  /** One row per fact about the database itself. */
  meta: { name: string; value: Uint8Array };
  /** One row; incremented by every change of owners, keys, devices or push targets. */
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
  hooks: { owner_id: string; id: string; created_at: number; sealed: Uint8Array };
  /** Finds the hook of a token. The hook itself lists the digests of its tokens, so a row here alone opens nothing. */
  hook_tokens: { owner_id: string; digest: string; hook_id: string };
  devices: {
    owner_id: string;
    id: string;
    state: string;
    paused: number;
    secret_digest: string;
    created_at: number;
    /** When the device was last connected to the embedded broker. */
    seen_at: number | null;
    sealed: Uint8Array;
  };
  push_targets: {
    owner_id: string;
    id: string;
    provider: string;
    /** Set when the provider reported the token as expired. */
    disabled_at: number | null;
    created_at: number;
    sealed: Uint8Array;
  };
  /** Persistent MQTT sessions of the embedded broker. */
  mqtt_sessions: { owner_id: string; device_id: string; client_id: string; subscriptions: string; updated_at: number };
  /** Queues of the embedded broker; the payload is read from the encrypted row of the notification. */
  mqtt_waiting: {
    owner_id: string;
    device_id: string;
    /** The client of the session; empty: the queue of the device itself. */
    client_id: string;
    notification_id: string;
    qos: number;
    /** The packet identifier of a QoS 2 message, stored before it is sent, until the handshake is complete. */
    message_id: number | null;
    /** `publish`, or `pubrel` once the client has sent PUBREC for a QoS 2 message. */
    state: string;
  };
  /** Notifications that the embedded broker has delivered to a device. */
  mqtt_receipts: {
    owner_id: string;
    notification_id: string;
    device_id: string;
    /** When the device acknowledged it; with QoS 0, when it was written to its socket. */
    delivered_at: number;
    qos: number;
  };
  notifications: { owner_id: string; id: string; created_at: number; sealed: Uint8Array };
  /** What the sender of a hook has sent, whole. */
  originals: { owner_id: string; notification_id: string; sealed: Uint8Array };
  /** The targets of a notification at its first attempt, and the results; no row if there were no targets. */
  dispatches: {
    owner_id: string;
    notification_id: string;
    /** JSON: ids of devices and push targets, never addresses or tokens. */
    targets: string;
    /** JSON: the result of each target; null until it is known. */
    results: string | null;
    /** null once settled. An expired lease means that the responsible process died. */
    lease_until: number | null;
  };
  /** Sends that failed at the first attempt. */
  deliveries: {
    owner_id: string;
    notification_id: string;
    channel: string;
    /** Id of a device or push target; empty for the owner's email address. */
    target: string;
    /** `waiting`, `sent` or `dead`. */
    state: string;
    /** Number of retries. */
    attempts: number;
    qos: number;
    created_at: number;
    /** Time of the next attempt; null if the delivery is sent or dead. */
    next_at: number | null;
    /** Earliest time of the next attempt, even if the channel recovers sooner. */
    not_before: number;
    /** After this time the delivery becomes dead. */
    expires_at: number;
    /** When it was sent or became dead. */
    ended_at: number | null;
    /** The last error. */
    sealed: Uint8Array;
  };
  /** One queue for each target with waiting deliveries: its holder sends to that target, in order. */
  delivery_lanes: {
    owner_id: string;
    channel: string;
    target: string;
    /** Time of the earliest delivery; while the queue is held, the end of its lease, unless it was woken. */
    next_at: number;
    /** Incremented by every delivery that is added. */
    version: number;
    /** 0 while the queue is not held. */
    lease_until: number;
    /** 1 while its holder sends the last delivery: until the result is known no delivery can join. */
    closing: number;
  };
  idempotency: {
    owner_id: string;
    key_digest: string;
    fingerprint: string;
    notification_id: string;
    /** Until when the process of the first request is responsible for its response. */
    lease_until: number;
    expires_at: number;
    /** The response to the first request; null until it is known. */
    sealed: Uint8Array | null;
  };
  /** The read position of an owner, and a counter of changes of read and deleted marks. */
  inbox_states: {
    owner_id: string;
    /** Notifications up to this id are read, unless they have a mark; empty: none. */
    read_through: string;
    generation: number;
    /** `read_through` before the last "mark all read", and the position it set; null: nothing to undo. */
    undo_read_through: string | null;
    undo_through: string | null;
  };
  /** Marks of single notifications; most have none. */
  inbox_marks: {
    owner_id: string;
    notification_id: string;
    is_read: number | null;
    /** `is_read` before the last "mark all read", which the owner can undo. */
    undo_is_read: number | null;
    /** Hidden since then, and deleted by a later purge. */
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
  /** The valid versions of rows that decide about access, see `row-versions.ts`. */
  row_versions: { id: string; sealed: Uint8Array };
  used_signatures: { owner_id: string; signature: string; expires_at: number };
  /** Requests of a key in the current window, if several processes share its limit. */
  request_counts: { owner_id: string; key_id: string; window_ms: number; used: number; resets_at: number };
}
