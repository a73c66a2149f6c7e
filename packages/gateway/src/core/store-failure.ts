/** A save, or a look-up of a key or of recipients, that the store failed; by id of the owner or digest of the key. */
export interface StoreFailure {
  kind: 'save' | 'key' | 'recipients';
  id: string;
}
