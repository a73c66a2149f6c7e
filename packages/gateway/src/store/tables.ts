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
  notifications: { owner_id: string; id: string; created_at: number; sealed: Uint8Array };
  used_signatures: { owner_id: string; signature: string; expires_at: number };
}
