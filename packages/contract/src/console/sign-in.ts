// Signing in and out, and the session of the signed-in owner.
import type { Operation } from './route.ts';
import { anyObject, array, flag, integer, nullable, object, oneOf, type TypeOf, text } from './schema.ts';

export const ok = object({ ok: flag() });

const oidc = nullable(object({ name: text() }));

const signInOptions = object({
  mail: flag(),
  /** Passkeys need a host name; an IP address has none. */
  passkeys: flag(),
  oidc,
});
/** The ways to sign in that this service offers. */
export type SignInOptions = TypeOf<typeof signInOptions>;

const linkPreview = object({
  purpose: oneOf(['sign_in', 'confirm_email']),
  ownerName: text(),
  email: nullable(text()),
});
/** What a link is for, without using it. */
export type LinkPreview = TypeOf<typeof linkPreview>;

const ownerProfile = object({
  id: text(),
  name: text(),
  email: nullable(text()),
  role: oneOf(['owner', 'operator']),
});
export type OwnerProfile = TypeOf<typeof ownerProfile>;

const serviceInfo = object({
  version: text(),
  /** Where callers send notifications, as this browser reaches it. */
  apiUrl: text(),
  /** Where this console is, as this browser reaches it. */
  consoleUrl: text(),
  mail: flag(),
  passkeys: flag(),
  oidc,
  /** The application server key for Web Push. */
  webPushKey: text(),
  /** 0: notifications are kept forever. */
  retentionDays: integer(),
  /** True with the embedded broker, which records when a device was last connected. */
  knowsLastSeen: flag(),
  /** All channels, in the order of their display. */
  channels: array(object({ name: text(), label: text() })),
});
export type ServiceInfo = TypeOf<typeof serviceInfo>;

const sessionInfo = object({
  owner: ownerProfile,
  sessionId: text(),
  /** True for an operator none of whose passkeys has verified its user: one that does should be added. */
  needsVerifiedPasskey: flag(),
  service: serviceInfo,
});
export type SessionInfo = TypeOf<typeof sessionInfo>;

const phoneLink = object({ url: text(), expiresAt: integer() });
/** A link that signs another browser in, shown as a QR code. */
export type PhoneLink = TypeOf<typeof phoneLink>;

const token = object({ token: text({ minLength: 1, maxLength: 100 }) });

/** A credential of the browser. The WebAuthn library checks the rest. */
export const credential = object({
  id: text({ minLength: 1, maxLength: 2000 }),
  rawId: text(),
  type: text(),
  response: anyObject(),
});

export const signInOperations = {
  getSignInOptions: { access: 'public', response: signInOptions },
  previewLink: { access: 'public', body: token, response: linkPreview },
  /**
   * Signs in and sets the cookie. A link that confirms an email address only changes the address and needs a session:
   * without one the response is 401 signed_out, for another owner 409 conflict, and the link stays valid.
   */
  useLink: { access: 'public', body: token, response: ok },
  /** The response is the same whether or not an owner has the address. */
  requestLink: {
    access: 'public',
    body: object({ email: text({ minLength: 3, maxLength: 254 }) }),
    status: 202,
    response: ok,
  },
  /** PublicKeyCredentialRequestOptionsJSON */
  getPasskeySignInOptions: { access: 'public', response: anyObject() },
  /** The body holds an AuthenticationResponseJSON; sets the cookie. */
  signInWithPasskey: { access: 'public', body: object({ credential }), response: ok },
  /** Redirects to the provider, or to /sign-in?problem=oidc_unavailable. */
  beginOidc: { access: 'public' },
  /** Redirects to /, or to /sign-in?problem=oidc_refused or oidc_unavailable. */
  finishOidc: { access: 'public' },
  getSession: { response: sessionInfo },
  createPhoneLink: { response: phoneLink },
  signOut: { status: 204 },
} as const satisfies Record<string, Operation>;
