// Signing in with a passkey. The browser shows those it has; which owner it is, we learn from the one that was chosen.
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { FastifyInstance } from 'fastify';
import { digestOf } from '../../core/key-format.ts';
import { mayUseUnverified } from '../../usecases/user-verification.ts';
import type { ConsoleApiParts } from '../deps.ts';
import {
  challengeOf,
  forgetChallenge,
  notVerified,
  passkeyRefused,
  rememberChallenge,
  siteOf,
} from './passkey-challenge.ts';
import { beginSession } from './session.ts';
import { webAuthn } from './web-authn.ts';

const purpose = 'sign-in';
const config = { isPublic: true } as const;

/** What the library looks at it checks itself. */
export const credentialSchema = {
  type: 'object',
  required: ['id', 'rawId', 'type', 'response'],
  properties: {
    id: { type: 'string', minLength: 1, maxLength: 2000 },
    rawId: { type: 'string' },
    type: { type: 'string' },
    response: { type: 'object' },
  },
};

const schema = {
  body: { type: 'object', required: ['credential'], properties: { credential: credentialSchema } },
};

export function addPasskeySignInRoutes(api: FastifyInstance, parts: ConsoleApiParts): void {
  const { store, now } = parts;

  api.post('/sign-in/passkey/options', { config }, async (request, reply) => {
    const { rpId: rpID } = siteOf(parts, request);
    const { generateAuthenticationOptions } = await webAuthn();
    const options = await generateAuthenticationOptions({ rpID, userVerification: 'preferred' });
    rememberChallenge(parts, reply, purpose, options.challenge);
    return options;
  });

  api.post<{ Body: { credential: AuthenticationResponseJSON } }>(
    '/sign-in/passkey',
    { schema, config },
    async (request, reply) => {
      const { credential: response } = request.body;
      const { challenge, expiresAt } = challengeOf(parts, request, purpose);
      forgetChallenge(parts, reply);
      const { rpId, origin } = siteOf(parts, request);
      const passkey = await store.passkeys.find(digestOf(response.id));
      if (passkey === null) return passkeyRefused();
      const { ownerId, credentialId, publicKey, counter } = passkey;
      const { verifyAuthenticationResponse } = await webAuthn();
      // Also refuses a counter that does not go up: then there are two authenticators with one key.
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin: origin,
        expectedRPID: rpId,
        // Asked for of everybody; required below, of operators.
        requireUserVerification: false,
        credential: {
          id: credentialId,
          publicKey: Uint8Array.from(Buffer.from(publicKey, 'base64url')),
          counter,
        },
      }).catch(passkeyRefused);
      // The cookie could be sent again with the same answer: a challenge counts once, on whichever node.
      if (!verified || !(await store.signatures.claim(ownerId, `passkey ${challenge}`, expiresAt)))
        return passkeyRefused();
      const { newCounter, userVerified } = authenticationInfo;
      const owner = await store.owners.find(ownerId);
      if (owner === null) return passkeyRefused();
      if (!userVerified && !mayUseUnverified(owner, passkey, await store.passkeys.list(ownerId))) throw notVerified();
      const use = { counter: newCounter, usedAt: now(), userVerified };
      if (!(await store.passkeys.recordUse(passkey, use))) return passkeyRefused();
      await beginSession(parts, request, reply, { ownerId, method: 'passkey' });
      return { ok: true };
    },
  );
}
