import type { Owner, Store } from '../../usecases/ports/index.ts';
import { signedOut } from '../refusal.ts';

/** Changes the current row of the owner, so that a concurrent change of other fields is kept. */
export async function changeOwner(
  store: Pick<Store, 'owners'>,
  id: string,
  change: (owner: Owner) => Owner,
): Promise<Owner> {
  const changed = await store.owners.change(id, change);
  if (changed === null) throw signedOut();
  return changed;
}
