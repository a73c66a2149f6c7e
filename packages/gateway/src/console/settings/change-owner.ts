import type { Owner, Store } from '../../usecases/ports/index.ts';
import { ConsoleRefusal } from '../refusal.ts';

/** As the owner is by then: what somebody else changed meanwhile stays. */
export async function changeOwner(
  store: Pick<Store, 'owners'>,
  id: string,
  change: (owner: Owner) => Owner,
): Promise<Owner> {
  const changed = await store.owners.change(id, change);
  if (changed === null) throw new ConsoleRefusal('signed_out', 'You are not signed in, or no longer.');
  return changed;
}
