import type { Owner, OwnerRepository } from '../../usecases/ports/index.ts';

/** Those whose address it is, in whatever case. An owner whose row is damaged keeps nobody else out. */
export async function ownersWithEmail(
  owners: Pick<OwnerRepository, 'list'>,
  address: string,
): Promise<(Owner & { email: string })[]> {
  const wanted = folded(address);
  const all = await owners.list(() => undefined);
  return all.filter((owner) => hasEmail(owner)).filter(({ email }) => folded(email) === wanted);
}

/** Only what is ASCII: the small letter of the Kelvin sign is a k, and whoever has such an address is somebody else. */
function folded(address: string): string {
  return address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

export function hasEmail(owner: Owner): owner is Owner & { email: string } {
  return owner.email !== null;
}
