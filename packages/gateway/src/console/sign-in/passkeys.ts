// The passkeys of an owner: made, listed and deleted by whoever is signed in.

import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import type { PasskeyEntry } from '@tocsin/contract/console';
import type { FastifyInstance } from 'fastify';
import { digestOf } from '../../core/key-format.ts';
import { AlreadyTaken, type Passkey } from '../../usecases/ports/sign-in.ts';
import { newId } from '../../usecases/registration.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { ConsoleRefusal, notFound } from '../refusal.ts';
import { Fields } from '../settings/fields.ts';
import { ownerOf } from '../signed-in.ts';
import {
  challengeOf,
  forgetChallenge,
  notVerified,
  passkeyRefused,
  rememberChallenge,
  siteOf,
} from './passkey-challenge.ts';
import { credentialSchema } from './passkey-sign-in.ts';
import { sendSecurityNotice } from './security-notices.ts';
import { webAuthn } from './web-authn.ts';

/** COSE's numbers of EdDSA, ES256 and RS256. */
const supportedAlgorithmIDs = [-8, -7, -257];

const schema = {
  body: {
    type: 'object',
    required: ['name', 'credential'],
    properties: {
      name: { type: 'string' },
      credential: credentialSchema,
    },
  },
};

export function addPasskeyRoutes(api: FastifyInstance, parts: ConsoleApiParts): void {
  const { store, now, makers } = parts;

  api.get('/passkeys', async (request) => ({
    passkeys: (await store.passkeys.list(ownerOf(request).id)).map(toEntry),
  }));

  api.post('/passkeys/options', async (request, reply) => {
    const { id, name, email, role } = ownerOf(request);
    const { generateRegistrationOptions } = await webAuthn();
    const options = await generateRegistrationOptions({
      rpName: 'Tocsin',
      rpID: siteOf(parts, request).rpId,
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
    rememberChallenge(parts, reply, `registration of ${id}`, options.challenge);
    return options;
  });

  api.post<{ Body: { name: string; credential: RegistrationResponseJSON } }>(
    '/passkeys',
    { schema },
    async (request, reply) => {
      const { id: ownerId, role } = ownerOf(request);
      const { credential: response } = request.body;
      const fields = new Fields(request.body);
      const name = fields.text('name', 100);
      fields.check();
      const { challenge, expiresAt } = challengeOf(parts, request, `registration of ${ownerId}`);
      forgetChallenge(parts, reply);
      const { rpId, origin } = siteOf(parts, request);
      const { verifyRegistrationResponse } = await webAuthn();
      const { registrationInfo } = await verifyRegistrationResponse({
        response,
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
        id: newId('pky', makers),
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
        if (error instanceof AlreadyTaken) throw new ConsoleRefusal('conflict', 'This passkey is known already.');
        throw error;
      });
      const notice = { kind: 'new-passkey', name, at: now() } as const;
      sendSecurityNotice(parts, { request, owner: ownerOf(request), notice }, reply);
      return reply.code(201).send(toEntry(passkey));
    },
  );

  api.delete<{ Params: { id: string } }>('/passkeys/:id', async (request, reply) => {
    if (!(await store.passkeys.delete(ownerOf(request).id, request.params.id))) throw notFound('passkey');
    return reply.code(204).send();
  });
}

function toEntry({ id, name, userVerified, createdAt, usedAt }: Passkey): PasskeyEntry {
  return { id, name, userVerified, createdAt, usedAt };
}
