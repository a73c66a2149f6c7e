/** Gathers what is to be sent until the turn of the event loop ends: many small messages cost far more than a long one. */
export class Outbox<T> {
  #waiting: T[] = [];
  readonly #post: (items: T[]) => void;

  constructor(post: (items: T[]) => void) {
    this.#post = post;
  }

  add(item: T): void {
    this.#waiting.push(item);
    if (this.#waiting.length === 1) setImmediate(() => this.#post(this.#waiting.splice(0)));
  }
}
