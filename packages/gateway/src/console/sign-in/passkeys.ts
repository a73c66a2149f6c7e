// The passkeys of the signed-in owner: added, listed and deleted.

import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import type { PasskeyEntry } from '@tocsin/contract/console';
import { passkeyRoutes } from '@tocsin/contract/console/routes';
import type { JsonObject } from '@tocsin/contract/types';
import type { FastifyInstance } from 'fastify';
import { digestOf } from '../../core/key-format.ts';
import { AlreadyTaken, type Passkey } from '../../usecases/ports/sign-in.ts';
import { newId } from '../../usecases/registration.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { ConsoleRefusal, notFound } from '../refusal.ts';
import { addRoute } from '../route.ts';
import { ownerOf } from '../signed-in.ts';
import {
  challengeOf,
  forgetChallenge,
  notVerified,
  passkeyRefused,
  relyingParty,
  rememberChallenge,
} from './passkey-challenge.ts';
import { sendSecurityNotice } from './security-notices.ts';
import { webAuthn } from './web-authn.ts';

/** COSE algorithm identifiers of EdDSA, ES256 and RS256. */
const supportedAlgorithmIDs = [-8, -7, -257];

export function addPasskeyRoutes(api: FastifyInstance, deps: ConsoleApiDeps): void {
  const { store, now, environment } = deps;

  addRoute(api, passkeyRoutes.listPasskeys, async (request) => ({
    passkeys: (await store.passkeys.list(ownerOf(request).id)).map(toEntry),
  }));

  addRoute(api, passkeyRoutes.getPasskeyOptions, async (request, reply) => {
    const { id, name, email, role } = ownerOf(request);
    const { generateRegistrationOptions } = await webAuthn();
    const options = await generateRegistrationOptions({
      rpName: 'Tocsin',
      rpID: relyingParty(deps, request).rpId,
      userID: Uint8Array.from(Buffer.from(id)),
      userName: email ?? name,
      userDisplayName: name,
      excludeCredentials: (await store.passkeys.list(id)).map(({ credentialId }) => ({ id: credentialId })),
      supportedAlgorithmIDs,
      authenticatorSelection: {
        residentKey: 'required',
        userVerification: role === 'operator' ? 'required' : 'preferred',
      },
    });
    rememberChallenge(deps, reply, `registration of ${id}`, options.challenge);
    return options as unknown as JsonObject;
  });

  addRoute(api, passkeyRoutes.addPasskey, async (request, reply) => {
    const { id: ownerId, role } = ownerOf(request);
    const { name } = request.body;
    const { challenge, expiresAt } = challengeOf(deps, request, `registration of ${ownerId}`);
    forgetChallenge(deps, reply);
    const { rpId, origin } = relyingParty(deps, request);
    const { verifyRegistrationResponse } = await webAuthn();
    const { registrationInfo } = await verifyRegistrationResponse({
      response: request.body.credential as unknown as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: false,
      supportedAlgorithmIDs,
    }).catch(passkeyRefused);
    if (registrationInfo === undefined) throw passkeyRefused();
    if (!(await store.signatures.claim(ownerId, `passkey ${challenge}`, expiresAt))) throw passkeyRefused();
    const { credential, userVerified } = registrationInfo;
    if (!userVerified && role === 'operator') throw notVerified();
    const passkey: Passkey = {
      id: newId('pky', environment),
      ownerId,
      credentialDigest: digestOf(credential.id),
      credentialId: credential.id,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      transports: credential.transports ?? [],
      name,
      userVerified,
      counter: credential.counter,
      createdAt: now(),
      usedAt: null,
    };
    await store.passkeys.create(passkey).catch((error: unknown) => {
      if (error instanceof AlreadyTaken) throw new ConsoleRefusal('conflict', 'This passkey is already registered.');
      throw error;
    });
    const notice = { kind: 'new-passkey', name, at: now() } as const;
    sendSecurityNotice(deps, { request, owner: ownerOf(request), notice }, reply);
    return toEntry(passkey);
  });

  addRoute(api, passkeyRoutes.deletePasskey, async (request) => {
    if (!(await store.passkeys.delete(ownerOf(request).id, request.params.id))) throw notFound('passkey');
  });
}

function toEntry({ id, name, userVerified, createdAt, usedAt }: Passkey): PasskeyEntry {
  return { id, name, userVerified, createdAt, usedAt };
}
