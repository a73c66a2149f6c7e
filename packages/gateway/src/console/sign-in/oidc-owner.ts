// Maps an OpenID identity to an owner.
import { digestOf } from '../../core/key-format.ts';
import { printable } from '../../core/printable.ts';
import { AlreadyTaken, type OidcIdentity } from '../../usecases/ports/sign-in.ts';
import { createOwner, newId } from '../../usecases/registration.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import type { OidcPerson } from './oidc-types.ts';
import { ownersWithEmail } from './owners-with-email.ts';

type Deps = Pick<ConsoleApiDeps, 'store' | 'now' | 'environment'>;

const nameCharacters = 100;

/** The id of the owner; null: no owner, and none may be created. */
export async function ownerOfPerson(deps: Deps, person: OidcPerson, createsOwners: boolean): Promise<string | null> {
  const known = await deps.store.identities.find(digestOfPerson(person));
  if (known !== null) return known.ownerId;
  const sameEmail = person.email === null ? null : await onlyOwnerWith(deps, person.email);
  if (sameEmail !== null && !(await isLinkedToOther(deps, sameEmail, person))) return link(deps, person, sameEmail);
  return createsOwners ? createAndLink(deps, person) : null;
}

async function onlyOwnerWith({ store }: Deps, email: string): Promise<string | null> {
  const [owner, ...others] = await ownersWithEmail(store.owners, email);
  return owner === undefined || others.length > 0 ? null : owner.id;
}

/** Providers reassign addresses: a new subject with the address of an owner may be another person. */
async function isLinkedToOther({ store }: Deps, ownerId: string, { issuer, subject }: OidcPerson): Promise<boolean> {
  const identities = await store.identities.list(ownerId);
  return identities.some((known) => known.issuer === issuer && known.subject !== subject);
}

/** Of two concurrent requests, both get the owner that was linked first. */
async function link({ store, now, environment }: Deps, person: OidcPerson, ownerId: string): Promise<string | null> {
  const identity: OidcIdentity = {
    id: newId('oid', environment),
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

async function createAndLink(deps: Deps, person: OidcPerson): Promise<string | null> {
  const { email } = person;
  const given = printable(person.name ?? '')
    .replaceAll(/\ufffd+/g, ' ')
    .trim();
  const name = (given || email || 'New owner').slice(0, nameCharacters).toWellFormed();
  const { id } = await createOwner(deps.store, deps.environment, { name, email, emailAlerts: false });
  const linked = await link(deps, person, id);
  if (linked !== id) await deps.store.owners.delete(id);
  return linked;
}

function digestOfPerson({ issuer, subject }: OidcPerson): string {
  return digestOf(JSON.stringify([issuer, subject]));
}
