/** A save, or a lookup of a key, a hook or of recipients, that failed in the store; by owner id or digest. */
export interface StoreFailure {
  kind: 'save' | 'key' | 'hook' | 'recipients';
  id: string;
}
