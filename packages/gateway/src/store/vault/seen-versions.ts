// The newest versions that this process has seen: a database that goes back to an earlier state as a whole is consistent in
// itself, so only a process that remembers newer versions can detect it.
import { BoundedMap } from '../../core/bounded-map.ts';
import type { VersionNode } from './version-tree.ts';

const maxOwners = 10_000;

export class SeenVersions {
  /** The newest node of each owner, and the count of observations when it was first seen. */
  readonly #newest = new BoundedMap<string, { node: VersionNode; observation: number }>(maxOwners);
  #observations = 0;
  #head = 0;

  /** To be read before the database is, and passed to `newest`. */
  get observations(): number {
    return this.#observations;
  }

  get headVersion(): number {
    return this.#head;
  }

  noteHead({ version }: VersionNode): void {
    this.#head = Math.max(this.#head, version);
  }

  /**
   * Remembers the node, and returns the newest node that was seen before the read began; the given one if it is newer, or
   * if a newer one was first seen during the read.
   */
  newest(ownerId: string, node: VersionNode, observationsBefore: number): VersionNode {
    const known = this.#newest.get(ownerId);
    if (known !== undefined && known.node.version >= node.version) {
      return known.observation <= observationsBefore ? known.node : node;
    }
    this.#observations += 1;
    this.#newest.renew(ownerId, { node, observation: this.#observations });
    return node;
  }

  /** Remembers a node that this process has written. */
  note(ownerId: string, node: VersionNode): void {
    this.newest(ownerId, node, this.#observations);
  }
}
