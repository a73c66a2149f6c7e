import type { Owner, Store } from '../../usecases/ports/index.ts';
import { ConsoleRefusal } from '../refusal.ts';

/** As the owner is by then: what somebody else changed meanwhile stays. */
export async function changeOwner(
  store: Pick<Store, 'changeOwner'>,
  id: string,
  change: (owner: Owner) => Owner,
): Promise<Owner> {
  const changed = await store.changeOwner(id, change);
  if (changed === null) throw new ConsoleRefusal('signed_out', 'You are not signed in, or no longer.');
  return changed;
}
