/** Loaded at the first use of a passkey: it brings a certificate library along, which would make every start slower. */
export const webAuthn = () => import('@simplewebauthn/server');
