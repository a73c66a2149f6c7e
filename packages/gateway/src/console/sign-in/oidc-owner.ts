// Whom somebody is that an OpenID provider vouches for.
import { digestOf } from '../../core/key-format.ts';
import { printable } from '../../core/printable.ts';
import { AlreadyTaken, type OidcIdentity } from '../../usecases/ports/sign-in.ts';
import { createOwner, newId } from '../../usecases/registration.ts';
import type { ConsoleApiParts } from '../deps.ts';
import type { OidcPerson } from './oidc-provider.ts';
import { ownersWithEmail } from './owners-with-email.ts';

type Parts = Pick<ConsoleApiParts, 'store' | 'now' | 'makers'>;

const nameCharacters = 100;

/** The id of the owner; null: nobody here. */
export async function ownerOfPerson(parts: Parts, person: OidcPerson, createsOwners: boolean): Promise<string | null> {
  const known = await parts.store.identities.find(digestOfPerson(person));
  if (known !== null) return known.ownerId;
  const namesake = person.email === null ? null : await onlyOwnerWith(parts, person.email);
  if (namesake !== null && !(await isAnothers(parts, namesake, person))) return link(parts, person, namesake);
  return createsOwners ? createAndLink(parts, person) : null;
}

async function onlyOwnerWith({ store }: Parts, email: string): Promise<string | null> {
  const [owner, ...others] = await ownersWithEmail(store.owners, email);
  return owner === undefined || others.length > 0 ? null : owner.id;
}

/** An address that somebody has left is given to others: whoever comes with it then is not the one who was here. */
async function isAnothers({ store }: Parts, ownerId: string, { issuer, subject }: OidcPerson): Promise<boolean> {
  const identities = await store.identities.list(ownerId);
  return identities.some((known) => known.issuer === issuer && known.subject !== subject);
}

/** Where two requests come at once, both end with whom the first was linked to. */
async function link({ store, now, makers }: Parts, person: OidcPerson, ownerId: string): Promise<string | null> {
  const identity: OidcIdentity = {
    id: newId('oid', makers),
    ownerId,
    subjectDigest: digestOfPerson(person),
    issuer: person.issuer,
    subject: person.subject,
    createdAt: now(),
  };
  try {
    await store.identities.create(identity);
    return ownerId;
  } catch (error) {
    if (!(error instanceof AlreadyTaken)) throw error;
    return (await store.identities.find(identity.subjectDigest))?.ownerId ?? null;
  }
}

async function createAndLink(parts: Parts, person: OidcPerson): Promise<string | null> {
  const { email } = person;
  const given = printable(person.name ?? '')
    .replaceAll(/\ufffd+/g, ' ')
    .trim();
  const name = (given || email || 'New owner').slice(0, nameCharacters).toWellFormed();
  const { id } = await createOwner(parts.store, parts.makers, { name, email, emailAlerts: false });
  const linked = await link(parts, person, id);
  if (linked !== id) await parts.store.owners.delete(id);
  return linked;
}

function digestOfPerson({ issuer, subject }: OidcPerson): string {
  return digestOf(JSON.stringify([issuer, subject]));
}
