// Passkeys, with the browser's own conversion from and to JSON.
import type { PasskeyEntry } from '@tocsin/contract/console';
import { post } from './api/client.ts';

/** Browsers have them on secure origins alone, and older ones not at all. */
export function knowsPasskeys(): boolean {
  return typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;
}

export type PasskeyObstacle = 'needName' | 'needHttps' | 'tooOld';

/** Why there can be no passkeys on this page; null: there can. `isOffered`: the console says that its address allows them. */
export function passkeyObstacle(isOffered: boolean, { protocol, hostname }: Location): PasskeyObstacle | null {
  const isAddress = /^\[|^\d+\.\d+\.\d+\.\d+$/.test(hostname);
  if (isAddress) return 'needName';
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  if (protocol !== 'https:' && !isLocal) return 'needHttps';
  // The page is fine, so it is the configured address of the console that is not.
  if (!isOffered) return 'needName';
  return knowsPasskeys() ? null : 'tooOld';
}

/** Whether passkeys can be offered among the suggestions of a field. */
export async function suggestsPasskeys(): Promise<boolean> {
  return knowsPasskeys() && (await PublicKeyCredential.isConditionalMediationAvailable?.()) === true;
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

/** Whoever closes the browser's own dialog knows that. */
export function isChangeOfMind(error: unknown): boolean {
  return error instanceof DOMException && (error.name === 'NotAllowedError' || error.name === 'AbortError');
}
