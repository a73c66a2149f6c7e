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
import { OidcFailed, type OidcPerson, type OidcProvider, type OidcState } from './oidc-types.ts';

const timeoutSeconds = 10;

export function createOidcProvider(settings: OidcConfig): OidcProvider {
  const { issuer, clientId, clientSecret, name, scopes, createsOwners } = settings;
  let discovered: Promise<Configuration> | null = null;

  /** Discovered at the first use, so that a provider that is down does not prevent the start. Failures are not cached. */
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

  async function createAuthorizationUrl(redirectUri: string): Promise<{ url: string; state: OidcState }> {
    const pending = {
      redirectUri,
      state: randomState(),
      nonce: randomNonce(),
      codeVerifier: randomPKCECodeVerifier(),
    };
    const url = buildAuthorizationUrl(await configuration(), {
      redirect_uri: redirectUri,
      scope: scopes,
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await calculatePKCECodeChallenge(pending.codeVerifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, state: pending };
  }

  async function exchangeCode(search: string, pending: OidcState): Promise<OidcPerson> {
    const { redirectUri, nonce, codeVerifier } = pending;
    const config = await configuration();
    const tokens = await authorizationCodeGrant(config, new URL(redirectUri + search), {
      pkceCodeVerifier: codeVerifier,
      expectedState: pending.state,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new Error('The OpenID provider sent no ID token');
    const needsUserInfo = claims.email === undefined && config.serverMetadata().userinfo_endpoint !== undefined;
    const userInfo = needsUserInfo ? await fetchUserInfo(config, tokens.access_token, claims.sub) : {};
    return { issuer: claims.iss, subject: claims.sub, ...profileIn({ ...claims, ...userInfo }) };
  }

  return {
    name,
    createsOwners,
    begin: (redirectUri) => createAuthorizationUrl(redirectUri).catch(fail),
    finish: (search, state) =>
      exchangeCode(search, state).catch((error: unknown) => {
        if (error instanceof AuthorizationResponseError && error.error === 'access_denied') return null;
        return fail(error);
      }),
  };
}

function fail(error: unknown): never {
  const causes = error instanceof Error ? [error.message] : [];
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError)
    causes.push(/^\w{1,60}$/.test(error.error) ? error.error : '');
  let cause: unknown = error;
  for (; cause instanceof Error; cause = cause.cause) {
    const code = String((cause as { code?: unknown }).code ?? '');
    // Messages of the library are fixed texts; other messages could quote received data.
    causes.push(code.startsWith('OAUTH_') ? cause.message : code);
  }
  if (cause instanceof Response) causes.push(String(cause.status));
  throw new OidcFailed([...new Set(causes)].filter((each) => each !== '').join(', '));
}

/** client_secret_basic, which every provider must support, unless its metadata lists other methods. */
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
