import type { Owner, OwnerRepository } from '../../usecases/ports/index.ts';

/** The owners with this address, ignoring case. Owners that cannot be decrypted are skipped. */
export async function ownersWithEmail(
  owners: Pick<OwnerRepository, 'list'>,
  address: string,
): Promise<(Owner & { email: string })[]> {
  const wanted = foldCase(address);
  const all = await owners.list(() => undefined);
  return all.filter((owner) => hasEmail(owner)).filter(({ email }) => foldCase(email) === wanted);
}

/** Folds ASCII only: the Kelvin sign in lower case is a k, but belongs to another address. */
function foldCase(address: string): string {
  return address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

export function hasEmail(owner: Owner): owner is Owner & { email: string } {
  return owner.email !== null;
}
