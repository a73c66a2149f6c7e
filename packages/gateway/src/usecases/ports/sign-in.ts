// What signing in needs from the store: sessions, one-time links, passkeys, and identities of an OpenID provider.

/** How somebody signed in. */
export type SignInMethod = 'link' | 'mail' | 'passkey' | 'oidc';

/** One browser that is signed in. */
export interface Session {
  id: string;
  ownerId: string;
  /** Of the value in its cookie. */
  tokenDigest: string;
  method: SignInMethod;
  userAgent: string;
  address: string;
  createdAt: number;
  seenAt: number;
  expiresAt: number;
}

/** A link that works once. */
export interface OneTimeLink {
  tokenDigest: string;
  ownerId: string;
  /** `confirm_email` makes `email` the address of the owner. */
  purpose: 'sign_in' | 'confirm_email';
  /** What a session that begins with it says of its beginning. */
  method: Extract<SignInMethod, 'link' | 'mail'>;
  email: string | null;
  createdAt: number;
  expiresAt: number;
}

export interface Passkey {
  id: string;
  ownerId: string;
  /** Of the id that the authenticator gave it, by which it is found. */
  credentialDigest: string;
  /** base64url, as WebAuthn's JSON has it; the public key likewise. */
  credentialId: string;
  publicKey: string;
  transports: readonly string[];
  name: string;
  /**
   * Whether the authenticator has verified its user, by a PIN, a fingerprint or a face, when the passkey was made or used;
   * null: it was made by a version that did not ask, and was not used with it since.
   */
  userVerified: boolean | null;
  /** How often the authenticator says that it was used; 0 from those that do not count. */
  counter: number;
  createdAt: number;
  usedAt: number | null;
}

/** A person as an OpenID provider knows them. */
export interface OidcIdentity {
  id: string;
  ownerId: string;
  /** Of issuer and subject. */
  subjectDigest: string;
  issuer: string;
  subject: string;
  createdAt: number;
}

/** A passkey or an identity that somebody has already. */
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
