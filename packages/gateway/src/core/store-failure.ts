/** A save, or a lookup of a key or of recipients, that failed in the store; by owner id or key digest. */
export interface StoreFailure {
  kind: 'save' | 'key' | 'recipients';
  id: string;
}
