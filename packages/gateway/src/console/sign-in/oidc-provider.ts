// The operator's OpenID provider: authorization code with PKCE, state and nonce.
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  fetchUserInfo,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import type { OidcConfig } from '../../config/console.ts';
import { isOneAddress } from '../../core/email-address.ts';

export interface OidcProvider {
  readonly name: string;
  /** Whoever the provider lets in and nobody knows yet becomes an owner. */
  readonly createsOwners: boolean;
  /** Rejects with OidcFailed where the provider cannot be asked. */
  begin(redirectUri: string): Promise<{ url: string; memory: OidcMemory }>;
  /**
   * `search` is what the provider sent the browser back with; null: it said no, and has told the person why. Rejects with
   * OidcFailed where the provider cannot be asked or is not to be believed.
   */
  finish(search: string, memory: OidcMemory): Promise<OidcPerson | null>;
}

/** What it says is fit for a log: nothing that the provider or the browser sent but the names of errors. */
export class OidcFailed extends Error {
  override readonly name = 'OidcFailed';
}

/** What has to be known when the browser comes back. */
export interface OidcMemory {
  redirectUri: string;
  state: string;
  nonce: string;
  codeVerifier: string;
}

export interface OidcPerson {
  issuer: string;
  subject: string;
  name: string | null;
  /** Only where the provider has verified it. */
  email: string | null;
}

const timeoutSeconds = 10;

export function createOidcProvider(settings: OidcConfig): OidcProvider {
  const { issuer, clientId, clientSecret, name, scopes, createsOwners } = settings;
  let discovered: Promise<Configuration> | null = null;

  /** Not at the start: a provider that is down must not keep the service from starting. A failure is not remembered. */
  function configuration(): Promise<Configuration> {
    discovered ??= discovery(issuer, clientId, undefined, secretAs(clientSecret), {
      timeout: timeoutSeconds,
      ...(issuer.protocol === 'http:' && { execute: [allowInsecureRequests] }),
    }).catch((error: unknown) => {
      discovered = null;
      throw error;
    });
    return discovered;
  }

  async function askWhere(redirectUri: string): Promise<{ url: string; memory: OidcMemory }> {
    const memory = {
      redirectUri,
      state: randomState(),
      nonce: randomNonce(),
      codeVerifier: randomPKCECodeVerifier(),
    };
    const url = buildAuthorizationUrl(await configuration(), {
      redirect_uri: redirectUri,
      scope: scopes,
      state: memory.state,
      nonce: memory.nonce,
      code_challenge: await calculatePKCECodeChallenge(memory.codeVerifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, memory };
  }

  async function askWho(search: string, memory: OidcMemory): Promise<OidcPerson> {
    const { redirectUri, state, nonce, codeVerifier } = memory;
    const config = await configuration();
    const tokens = await authorizationCodeGrant(config, new URL(redirectUri + search), {
      pkceCodeVerifier: codeVerifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new Error('The OpenID provider sent no ID token');
    const isMore = claims.email === undefined && config.serverMetadata().userinfo_endpoint !== undefined;
    const more = isMore ? await fetchUserInfo(config, tokens.access_token, claims.sub) : {};
    return { issuer: claims.iss, subject: claims.sub, ...profileIn({ ...claims, ...more }) };
  }

  return {
    name,
    createsOwners,
    begin: (redirectUri) => askWhere(redirectUri).catch(fail),
    finish: (search, memory) =>
      askWho(search, memory).catch((error: unknown) => {
        if (error instanceof AuthorizationResponseError && error.error === 'access_denied') return null;
        return fail(error);
      }),
  };
}

function fail(error: unknown): never {
  const words = error instanceof Error ? [error.message] : [];
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError)
    words.push(/^\w{1,60}$/.test(error.error) ? error.error : '');
  let cause: unknown = error;
  for (; cause instanceof Error; cause = cause.cause) {
    const code = String((cause as { code?: unknown }).code ?? '');
    // What the library says is in words of its own; others could quote what was sent.
    words.push(code.startsWith('OAUTH_') ? cause.message : code);
  }
  if (cause instanceof Response) words.push(String(cause.status));
  throw new OidcFailed([...new Set(words)].filter((each) => each !== '').join(', '));
}

/** By the header, which every provider has to know, unless it says otherwise. */
function secretAs(secret: string): ClientAuth {
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_basic') ? ClientSecretBasic(secret) : ClientSecretPost(secret);
    return authenticate(server, ...rest);
  };
}

function profileIn(claims: Record<string, unknown>): Pick<OidcPerson, 'name' | 'email'> {
  const text = (value: unknown): string | null =>
    typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
  const email = claims.email_verified === true ? text(claims.email) : null;
  return {
    name: text(claims.name) ?? text(claims.preferred_username),
    email: email !== null && isOneAddress(email) ? email : null,
  };
}
