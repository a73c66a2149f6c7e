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

/** Whatever belongs to an owner that is gone is gone with it. What has expired by `now` is not found. */
export interface SignInStore {
  createSession(session: Session): Promise<void>;
  findSession(tokenDigest: string, now: number): Promise<Session | null>;
  /** Last seen first. */
  listSessions(ownerId: string, now: number): Promise<Session[]>;
  touchSession(session: Session, times: Pick<Session, 'seenAt' | 'expiresAt'>): Promise<void>;
  deleteSession(ownerId: string, id: string): Promise<boolean>;
  /** All but `exceptId`, with the links that were made but not used yet; says how many sessions. */
  deleteSessions(ownerId: string, exceptId: string): Promise<number>;

  createOneTimeLink(link: OneTimeLink): Promise<void>;
  /** A look that leaves it as it is. */
  findOneTimeLink(tokenDigest: string, now: number): Promise<OneTimeLink | null>;
  /** Uses it up: whoever else tries, at the same moment or later, gets null. */
  takeOneTimeLink(tokenDigest: string, now: number): Promise<OneTimeLink | null>;

  /** Rejects with AlreadyTaken where the credential is known. */
  createPasskey(passkey: Passkey): Promise<void>;
  listPasskeys(ownerId: string): Promise<Passkey[]>;
  findPasskey(credentialDigest: string): Promise<Passkey | null>;
  /** Notes a use, and that it verified the user. False where the counter has moved on meanwhile, or the passkey is gone. */
  usePasskey(passkey: Passkey, use: { counter: number; usedAt: number; userVerified: boolean }): Promise<boolean>;
  deletePasskey(ownerId: string, id: string): Promise<boolean>;

  /** Rejects with AlreadyTaken where it belongs to somebody. */
  createIdentity(identity: OidcIdentity): Promise<void>;
  listIdentities(ownerId: string): Promise<OidcIdentity[]>;
  findIdentity(subjectDigest: string): Promise<OidcIdentity | null>;
  deleteIdentity(ownerId: string, id: string): Promise<boolean>;
}
