// Sessions of the console, one-time links, passkeys, and identities of an OpenID provider.

/** How a session began. */
export type SignInMethod = 'link' | 'mail' | 'passkey' | 'oidc';

/** A signed-in browser. */
export interface Session {
  id: string;
  ownerId: string;
  /** SHA-256 of the value of the cookie. */
  tokenDigest: string;
  method: SignInMethod;
  userAgent: string;
  address: string;
  createdAt: number;
  seenAt: number;
  expiresAt: number;
}

/** A link that can be used once. */
export interface OneTimeLink {
  tokenDigest: string;
  ownerId: string;
  /** `confirm_email` makes `email` the address of the owner. */
  purpose: 'sign_in' | 'confirm_email';
  /** The method of the session that the link creates. */
  method: Extract<SignInMethod, 'link' | 'mail'>;
  email: string | null;
  createdAt: number;
  expiresAt: number;
}

export interface Passkey {
  id: string;
  ownerId: string;
  /** SHA-256 of the credential id; lookup key. */
  credentialDigest: string;
  /** base64url, as in the JSON of WebAuthn, like the public key. */
  credentialId: string;
  publicKey: string;
  transports: readonly string[];
  name: string;
  /**
   * Whether the authenticator verified the user (PIN, fingerprint or face) when the passkey was created or used. null:
   * created by a version that did not record it, and not used since.
   */
  userVerified: boolean | null;
  /** The signature counter of the authenticator; 0 if it has none. */
  counter: number;
  createdAt: number;
  usedAt: number | null;
}

/** An account of an OpenID provider that is linked to an owner. */
export interface OidcIdentity {
  id: string;
  ownerId: string;
  /** SHA-256 of issuer and subject. */
  subjectDigest: string;
  issuer: string;
  subject: string;
  createdAt: number;
}

/** The passkey or identity is registered already. */
export class AlreadyTaken extends Error {
  override readonly name = 'AlreadyTaken';
}

/** Browser sessions. Deleted with their owner; expired ones are not found. */
export interface SessionRepository {
  create(session: Session): Promise<void>;
  find(tokenDigest: string, now: number): Promise<Session | null>;
  /** Most recently seen first. */
  list(ownerId: string, now: number): Promise<Session[]>;
  touch(session: Session, times: Pick<Session, 'seenAt' | 'expiresAt'>): Promise<void>;
  delete(ownerId: string, id: string): Promise<boolean>;
  /** Deletes all sessions except `exceptId` and all unused one-time links; returns the number of sessions. */
  deleteOthers(ownerId: string, exceptId: string): Promise<number>;
}

/** Deleted with their owner; expired ones are not found. */
export interface OneTimeLinkRepository {
  create(link: OneTimeLink): Promise<void>;
  /** Finds a link without consuming it. */
  find(tokenDigest: string, now: number): Promise<OneTimeLink | null>;
  /** Consumes the link: of concurrent and later callers, only one gets it, the others get null. */
  consume(tokenDigest: string, now: number): Promise<OneTimeLink | null>;
}

/** Deleted with their owner. */
export interface PasskeyRepository {
  /** Rejects with AlreadyTaken if the credential is registered. */
  create(passkey: Passkey): Promise<void>;
  list(ownerId: string): Promise<Passkey[]>;
  find(credentialDigest: string): Promise<Passkey | null>;
  /**
   * Records a use, and whether it verified the user. False if the counter has changed meanwhile or the passkey was
   * deleted.
   */
  recordUse(passkey: Passkey, use: { counter: number; usedAt: number; userVerified: boolean }): Promise<boolean>;
  delete(ownerId: string, id: string): Promise<boolean>;
}

/** Deleted with their owner. */
export interface IdentityRepository {
  /** Rejects with AlreadyTaken if the identity is linked to an owner. */
  create(identity: OidcIdentity): Promise<void>;
  list(ownerId: string): Promise<OidcIdentity[]>;
  find(subjectDigest: string): Promise<OidcIdentity | null>;
  delete(ownerId: string, id: string): Promise<boolean>;
}
