// An authenticator as WebAuthn describes it, in a few lines: it makes passkeys on P-256 and signs with them.
import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

interface Credential {
  id: Buffer;
  privateKey: KeyObject;
  userHandle: string;
}

/** A passkey of another authenticator. */
export interface SavedPasskey {
  credentialId: string;
  userHandle: string;
  privateKey: Record<string, string>;
}

const flags = { userPresent: 0x01, userVerified: 0x04, attestedData: 0x40 };

export class SoftwareAuthenticator {
  readonly #origin: string;
  #credential: Credential | null = null;
  /** The signature counter that it reports. */
  counter = 0;
  /** User verification by PIN or fingerprint; a simple security key requires only a touch. */
  verifiesUser = true;

  constructor(origin: string) {
    this.#origin = origin;
  }

  load({ credentialId, userHandle, privateKey }: SavedPasskey): void {
    const key = createPrivateKey({ key: privateKey, format: 'jwk' });
    this.#credential = { id: Buffer.from(credentialId, 'base64url'), privateKey: key, userHandle };
  }

  /** `options` as the server gave them; the result is in the form of a browser's toJSON(). */
  create({ challenge, rp, user }: { challenge: string; rp: { id?: string }; user: { id: string } }) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    const id = randomBytes(32);
    this.#credential = { id, privateKey, userHandle: user.id };
    // COSE: kty EC2, alg ES256, crv P-256, x, y.
    const coordinates = [x, y].map((text) => Buffer.from(text, 'base64url')) as [Buffer, Buffer];
    const cose = [hex('a5010203262001215820'), coordinates[0], hex('225820'), coordinates[1]];
    const attested = Buffer.concat([Buffer.alloc(16), Buffer.of(0, id.length), id, ...cose]);
    const authData = Buffer.concat([this.#authenticatorData(rp.id ?? '', flags.attestedData), attested]);
    // CBOR: { fmt: 'none', attStmt: {}, authData }
    const attestation = [hex('a363666d74646e6f6e656761747453746d74a068617574684461746158'), Buffer.of(authData.length)];
    return {
      ...this.#identity(id),
      response: {
        clientDataJSON: this.#clientData('webauthn.create', challenge).toString('base64url'),
        attestationObject: Buffer.concat([...attestation, authData]).toString('base64url'),
        transports: ['internal'],
      },
    };
  }

  get({ challenge, rpId = '' }: { challenge: string; rpId?: string }) {
    if (this.#credential === null) throw new Error('There is no passkey yet.');
    const { id, privateKey, userHandle } = this.#credential;
    const authenticatorData = this.#authenticatorData(rpId, 0);
    const clientData = this.#clientData('webauthn.get', challenge);
    const signed = Buffer.concat([authenticatorData, createHash('sha256').update(clientData).digest()]);
    return {
      ...this.#identity(id),
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authenticatorData.toString('base64url'),
        signature: sign('sha256', signed, privateKey).toString('base64url'),
        userHandle,
      },
    };
  }

  #identity(id: Buffer) {
    const text = id.toString('base64url');
    return {
      id: text,
      rawId: text,
      type: 'public-key',
      clientExtensionResults: {},
      authenticatorAttachment: 'platform',
    };
  }

  #clientData(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.#origin, crossOrigin: false }));
  }

  #authenticatorData(rpId: string, more: number): Buffer {
    const head = Buffer.alloc(37);
    createHash('sha256').update(rpId).digest().copy(head);
    head[32] = flags.userPresent | (this.verifiesUser ? flags.userVerified : 0) | more;
    head.writeUInt32BE(this.counter, 33);
    return head;
  }
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}
