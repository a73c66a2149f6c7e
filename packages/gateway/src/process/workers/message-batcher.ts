/** Batches messages until the end of the event loop iteration: many small messages cost far more than a long one. */
export class MessageBatcher<T> {
  #pending: T[] = [];
  readonly #post: (items: T[]) => void;

  constructor(post: (items: T[]) => void) {
    this.#post = post;
  }

  add(item: T): void {
    this.#pending.push(item);
    if (this.#pending.length === 1) setImmediate(() => this.#post(this.#pending.splice(0)));
  }
}
