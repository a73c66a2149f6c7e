// Passkeys over the WebAuthn API, with the JSON conversion of the browser.

import type { BodyOf, PasskeyEntry } from '@tocsin/contract/console';
import { passkeyRoutes, signInRoutes } from '@tocsin/contract/console/routes';
import { call } from './api/client.ts';

/** Browsers support them on secure origins only, and older browsers not at all. */
export function supportsPasskeys(): boolean {
  return typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;
}

export type PasskeyObstacle = 'needName' | 'needHttps' | 'tooOld';

/** Why this page cannot use passkeys; null if it can. `isOffered`: the configured address of the console allows them. */
export function passkeyObstacle(isOffered: boolean, { protocol, hostname }: Location): PasskeyObstacle | null {
  const isAddress = /^\[|^\d+\.\d+\.\d+\.\d+$/.test(hostname);
  if (isAddress) return 'needName';
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  if (protocol !== 'https:' && !isLocal) return 'needHttps';
  // The address of the page is suitable, so the configured address of the console is not.
  if (!isOffered) return 'needName';
  return supportsPasskeys() ? null : 'tooOld';
}

/** Whether the browser can offer passkeys in the autofill suggestions of a field. */
export async function supportsPasskeyAutofill(): Promise<boolean> {
  return supportsPasskeys() && (await PublicKeyCredential.isConditionalMediationAvailable?.()) === true;
}

export async function signInWithPasskey(mediation: 'optional' | 'conditional', signal: AbortSignal): Promise<void> {
  const options = await call(signInRoutes.getPasskeySignInOptions);
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as unknown as PublicKeyCredentialRequestOptionsJSON,
  );
  const credential = await navigator.credentials.get({ publicKey, mediation, signal });
  await call(signInRoutes.signInWithPasskey, { body: { credential: toJson(credential) } });
}

export async function registerPasskey(name: string): Promise<PasskeyEntry> {
  const options = await call(passkeyRoutes.getPasskeyOptions);
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as unknown as PublicKeyCredentialCreationOptionsJSON,
  );
  const credential = await navigator.credentials.create({ publicKey });
  return call(passkeyRoutes.addPasskey, { body: { name, credential: toJson(credential) } });
}

function toJson(credential: Credential | null): BodyOf<typeof passkeyRoutes.addPasskey>['credential'] {
  return (credential as PublicKeyCredential).toJSON() as unknown as ReturnType<typeof toJson>;
}

/** The user closed the dialog of the browser, or the request was aborted: no error to show. */
export function isCancelled(error: unknown): boolean {
  return error instanceof DOMException && (error.name === 'NotAllowedError' || error.name === 'AbortError');
}
