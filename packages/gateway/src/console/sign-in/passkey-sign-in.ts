// Signing in with a passkey. The browser offers its passkeys; the chosen one identifies the owner.

import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import { signInRoutes } from '@tocsin/contract/console/routes';
import type { JsonObject } from '@tocsin/contract/types';
import type { FastifyInstance } from 'fastify';
import { digestOf } from '../../core/key-format.ts';
import { mayUseUnverified } from '../../usecases/user-verification.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { addRoute } from '../route.ts';
import {
  challengeOf,
  forgetChallenge,
  notVerified,
  passkeyRefused,
  relyingParty,
  rememberChallenge,
} from './passkey-challenge.ts';
import { beginSession } from './session.ts';
import { webAuthn } from './web-authn.ts';

const purpose = 'sign-in';

export function addPasskeySignInRoutes(api: FastifyInstance, deps: ConsoleApiDeps): void {
  const { store, now } = deps;

  addRoute(api, signInRoutes.getPasskeySignInOptions, async (request, reply) => {
    const { rpId: rpID } = relyingParty(deps, request);
    const { generateAuthenticationOptions } = await webAuthn();
    const options = await generateAuthenticationOptions({ rpID, userVerification: 'preferred' });
    rememberChallenge(deps, reply, purpose, options.challenge);
    return options as unknown as JsonObject;
  });

  addRoute(api, signInRoutes.signInWithPasskey, async (request, reply) => {
    const response = request.body.credential as unknown as AuthenticationResponseJSON;
    const { challenge, expiresAt } = challengeOf(deps, request, purpose);
    forgetChallenge(deps, reply);
    const { rpId, origin } = relyingParty(deps, request);
    const passkey = await store.passkeys.find(digestOf(response.id));
    if (passkey === null) return passkeyRefused();
    const { ownerId, credentialId, publicKey, counter } = passkey;
    const { verifyAuthenticationResponse } = await webAuthn();
    // Also refuses a counter that does not increase, which indicates a cloned authenticator.
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      // Preferred for every owner; required for operators, below.
      requireUserVerification: false,
      credential: {
        id: credentialId,
        publicKey: Uint8Array.from(Buffer.from(publicKey, 'base64url')),
        counter,
      },
    }).catch(passkeyRefused);
    // The cookie and the signature could be replayed, so each challenge is accepted once, on whichever node.
    if (!verified || !(await store.signatures.claim(ownerId, `passkey ${challenge}`, expiresAt)))
      return passkeyRefused();
    const { newCounter, userVerified } = authenticationInfo;
    const owner = await store.owners.find(ownerId);
    if (owner === null) return passkeyRefused();
    if (!userVerified && !mayUseUnverified(owner, passkey, await store.passkeys.list(ownerId))) throw notVerified();
    const use = { counter: newCounter, usedAt: now(), userVerified };
    if (!(await store.passkeys.recordUse(passkey, use))) return passkeyRefused();
    await beginSession(deps, request, reply, { ownerId, method: 'passkey' });
    return { ok: true };
  });
}
