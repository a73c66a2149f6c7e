// The signed-in owner of a request. The hook in `routes.ts` looks the session up before every route that is not public.
import type { FastifyRequest } from 'fastify';
import type { Owner } from '../usecases/ports/index.ts';
import type { Session } from '../usecases/ports/sign-in.ts';
import { ConsoleRefusal } from './refusal.ts';

export interface SignedIn {
  owner: Owner;
  session: Session;
}

const found = new WeakMap<FastifyRequest, SignedIn>();

export function rememberSignedIn(request: FastifyRequest, signedIn: SignedIn): void {
  found.set(request, signedIn);
}

export function signedIn(request: FastifyRequest): SignedIn {
  const known = found.get(request);
  if (known === undefined) throw new ConsoleRefusal('signed_out', 'Sign in first.');
  return known;
}

export function ownerOf(request: FastifyRequest): Owner {
  return signedIn(request).owner;
}
