/** A map with a maximum size: adding an entry to a full map evicts the oldest one. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #maxSize: number;

  constructor(maxSize: number) {
    super();
    this.#maxSize = maxSize;
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.#maxSize && !this.has(key)) this.delete(this.keys().next().value as Key);
    return super.set(key, value);
  }

  /** Sets the value and makes the entry the newest. */
  renew(key: Key, value: Value): this {
    this.delete(key);
    return this.set(key, value);
  }
}
