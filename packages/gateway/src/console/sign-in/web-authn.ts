/** Loaded at the first use of a passkey: its certificate library would slow down every start. */
export const webAuthn = () => import('@simplewebauthn/server');
