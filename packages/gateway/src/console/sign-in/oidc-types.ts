// What the console needs of an OpenID provider. Its client library is loaded only if a provider is configured.

export interface OidcProvider {
  readonly name: string;
  /** Whether a person without an owner gets a new one. */
  readonly createsOwners: boolean;
  /** Rejects with OidcFailed if the provider cannot be reached. */
  begin(redirectUri: string): Promise<{ url: string; state: OidcState }>;
  /**
   * `search` is the query of the callback. Returns null if the provider denied access, which it has explained to the
   * person. Rejects with OidcFailed if the provider cannot be reached or its response is not valid.
   */
  finish(search: string, state: OidcState): Promise<OidcPerson | null>;
}

/** The message is safe for the log: of the data that the provider or the browser sent, it holds error names only. */
export class OidcFailed extends Error {
  override readonly name = 'OidcFailed';
}

/** State that the callback needs. */
export interface OidcState {
  redirectUri: string;
  state: string;
  nonce: string;
  codeVerifier: string;
}

export interface OidcPerson {
  issuer: string;
  subject: string;
  name: string | null;
  /** null unless the provider has verified it. */
  email: string | null;
}
