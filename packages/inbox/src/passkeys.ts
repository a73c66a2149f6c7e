// Passkeys over the WebAuthn API, with the JSON conversion of the browser.
import type { PasskeyEntry } from '@tocsin/contract/console';
import { post } from './api/client.ts';

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
  const options = await post<PublicKeyCredentialRequestOptionsJSON>('/sign-in/passkey/options');
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await navigator.credentials.get({ publicKey, mediation, signal });
  await post('/sign-in/passkey', { credential: (credential as PublicKeyCredential).toJSON() });
}

export async function registerPasskey(name: string): Promise<PasskeyEntry> {
  const options = await post<PublicKeyCredentialCreationOptionsJSON>('/passkeys/options');
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = await navigator.credentials.create({ publicKey });
  return post<PasskeyEntry>('/passkeys', { name, credential: (credential as PublicKeyCredential).toJSON() });
}

/** The user closed the dialog of the browser, or the request was aborted: no error to show. */
export function isCancelled(error: unknown): boolean {
  return error instanceof DOMException && (error.name === 'NotAllowedError' || error.name === 'AbortError');
}
