// What the console says to the inbox app: the shapes of its JSON. Types alone; times are milliseconds since 1970.
//
// Every route is under /api and answers JSON. A refusal is `ConsoleError` with the status that belongs to its code.
// Requests that change something must come from the console's own pages: the Origin header decides.
import type { Category, Severity } from './fields.ts';
import type { KeyType } from './keys.ts';
import type { JsonObject } from './types.ts';

export interface ConsoleError {
  ok: false;
  /** For people. */
  error: string;
  code: ConsoleErrorCode;
  details?: { field: string; problem: string }[];
}

export type ConsoleErrorCode =
  /** 400 */
  | 'invalid_body'
  /** 401: nobody is signed in, or no longer. */
  | 'signed_out'
  /** 401: the link was used, is too old, or never was. */
  | 'link_not_valid'
  | 'passkey_refused'
  | 'oidc_refused'
  /** 403 */
  | 'cross_site'
  | 'operators_only'
  /** 404: also for whatever belongs to somebody else. */
  | 'not_found'
  /** 409 */
  | 'conflict'
  | 'body_too_large'
  /** 421: the console was asked under a host name that it does not know. */
  | 'unknown_host'
  | 'rate_limited'
  | 'unavailable'
  | 'internal';

// ── Signing in ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** GET /api/sign-in: what this service offers to somebody who is not signed in. */
export interface SignInOptions {
  mail: boolean;
  /** Passkeys need a host name: there are none on a bare address. */
  passkeys: boolean;
  oidc: { name: string } | null;
}

/** POST /api/sign-in/link/look { token } → whom the link signs in, before it is used up. */
export interface LinkPreview {
  purpose: 'sign_in' | 'confirm_email';
  ownerName: string;
  email: string | null;
}

// POST /api/sign-in/link { token } → 200 { ok: true } and the cookie. confirm_email changes the address, and nothing else: it
//   is no way in. 401 signed_out to whoever is not signed in, 409 conflict to another owner; the link still works then.
// POST /api/sign-in/mail { email } → 202 { ok: true }, whether or not anybody has that address
// POST /api/sign-in/passkey/options → PublicKeyCredentialRequestOptionsJSON
// POST /api/sign-in/passkey { credential: AuthenticationResponseJSON } → 200 { ok: true } and the cookie
// GET  /api/sign-in/oidc → 302 to the provider; GET /api/sign-in/oidc/callback → 302 to /; either to
//   /sign-in?problem=oidc_refused or oidc_unavailable
// POST /api/sign-out → 204

/** GET /api/session: who is signed in, and what the app needs to know of the service. 401 signed_out otherwise. */
export interface SessionInfo {
  owner: OwnerProfile;
  sessionId: string;
  /** An operator whose passkeys have never verified their user: one that does should be added. */
  needsVerifiedPasskey: boolean;
  service: ServiceInfo;
}

export interface OwnerProfile {
  id: string;
  name: string;
  email: string | null;
  role: 'owner' | 'operator';
}

export interface ServiceInfo {
  version: string;
  /** Where callers post to, as they reach it. */
  apiUrl: string;
  /** Where this console is, as browsers reach it. */
  consoleUrl: string;
  mail: boolean;
  passkeys: boolean;
  oidc: { name: string } | null;
  /** The application server key for Web Push. */
  webPushKey: string;
  /** 0: for ever. */
  retentionDays: number;
  /** The broker that devices use is inside the service, so that it knows when it last saw them. */
  knowsLastSeen: boolean;
}

/** GET /api/sessions → { sessions }; DELETE /api/sessions/:id → 204; POST /api/sessions/sign-out-others → { count } */
export interface SessionEntry {
  id: string;
  method: 'link' | 'mail' | 'passkey' | 'oidc';
  userAgent: string;
  address: string;
  createdAt: number;
  seenAt: number;
  isThisOne: boolean;
}

/** POST /api/phone-link → a link that signs another browser in, for a QR code. */
export interface PhoneLink {
  url: string;
  expiresAt: number;
}

/**
 * GET /api/passkeys → { passkeys }; POST /api/passkeys/options → PublicKeyCredentialCreationOptionsJSON;
 * POST /api/passkeys { name, credential: RegistrationResponseJSON } → 201 PasskeyEntry; DELETE /api/passkeys/:id → 204
 */
export interface PasskeyEntry {
  id: string;
  name: string;
  /** By a PIN, a fingerprint or a face; null: it is older than that question, and was not used since. */
  userVerified: boolean | null;
  createdAt: number;
  usedAt: number | null;
}

// ── Notifications ───────────────────────────────────────────────────────────────────────────────────────────────────

export interface InboxEntry {
  id: string;
  title: string;
  body: string;
  source: string;
  category: Category;
  severity: Severity | null;
  data: JsonObject;
  createdAt: number;
  isRead: boolean;
}

/** GET /api/notifications?limit=50&before=ID&unread=1 */
export interface InboxListing {
  notifications: InboxEntry[];
  /** `before` of the next page; null on the last. */
  next: string | null;
  /** Rows of this page that do not open. */
  damaged: number;
  unread: UnreadCount;
  /** For GET /api/events, which then goes on where this list ends; null for further pages. */
  position: string | null;
}

/** `count` is exact up to `atMost`, and `atMost` beyond it. GET /api/notifications/unread */
export interface UnreadCount {
  count: number;
  atMost: number;
}

/**
 * GET /api/notifications/search?q=&severity=a,b&category=a,b&unread=1&before=ID&limit=50 answers application/x-ndjson, one
 * SearchLine a line, newest notification first, as rows are opened. Closing the connection cancels it. `none` stands for
 * notifications without a severity.
 */
export type SearchLine =
  | { kind: 'match'; notification: InboxEntry }
  /** At least twice a second while it works. `reachedAt` is the time of the last notification opened. */
  | { kind: 'progress'; opened: number; matched: number; reachedAt: number }
  /**
   * `next` is `before` of a search that goes on; null: everything was looked at. `skipped` notifications took too long to
   * look through, so whether they match is unknown.
   */
  | { kind: 'end'; opened: number; matched: number; damaged: number; skipped: number; next: string | null }
  | { kind: 'failed'; error: string };

/** GET /api/notifications/:id */
export interface InboxDetail {
  notification: InboxEntry;
  deliveries: DeliveryEntry[];
}

/** What became of one target. */
export interface DeliveryEntry {
  channel: 'push' | 'email' | 'mqtt';
  /** Id of the device or push target; empty for the mailbox. */
  target: string;
  /** Its name today; null when it is gone. */
  name: string | null;
  /**
   * `sending`: the first attempt is not over. `sent`: the provider accepted it. `queued`: it waits in the queue of a device
   * of the embedded broker. `delivered`: that device has it. `gone`: the target is deleted. `rejected`: the provider will
   * never accept it.
   */
  state: 'sending' | 'sent' | 'queued' | 'delivered' | 'waiting' | 'dead' | 'gone' | 'rejected';
  /** How often it was tried again after the first attempt. */
  retries: number;
  nextAt: number | null;
  endedAt: number | null;
  /** Of the last attempt that failed. */
  error: string | null;
}

// POST /api/notifications/:id/retry { channel?, target? } → { count }: waiting and dead ones are due now
// POST /api/notifications/read { ids, isRead } → 204; POST /api/notifications/read-all { through: ID } → 204
// POST /api/notifications/read-all/undo { through: ID } → { isUndone }: false if it was not the last one
// POST /api/notifications/delete { ids } → { count }; POST /api/notifications/restore { ids } → { count }

/**
 * GET /api/events is text/event-stream. Events: `arrived` with an InboxEntry, `changed` when something was read, deleted
 * or restored here or elsewhere, `signed-out` before it ends for good. Each `arrived` has the notification's id as event id;
 * a client that comes back with Last-Event-ID gets what came meanwhile, or `changed` if that was much. With ?position= of a list,
 * the stream goes on where that list ends; what is in the list may be sent again.
 */
export type LiveEvent =
  | { event: 'arrived'; data: { notification: InboxEntry; unread: UnreadCount } }
  | { event: 'changed'; data: { unread: UnreadCount } }
  | { event: 'signed-out'; data: Record<string, never> };

// ── Devices, keys, push, preferences ────────────────────────────────────────────────────────────────────────────────

/** GET /api/devices → { devices } */
export interface DeviceEntry {
  id: string;
  name: string;
  state: 'active' | 'inactive';
  paused: boolean;
  createdAt: number;
  seenAt: number | null;
}

/** POST /api/devices { name } → 201; POST /api/devices/:id/password → 200. The password is shown this once. */
export interface DeviceWithSettings {
  device: DeviceEntry;
  mqtt: MqttSettings;
}

export interface MqttSettings {
  username: string;
  password: string;
  topic: string;
  /** mqtt://, mqtts://, ws:// or wss:// */
  urls: string[];
}

// POST /api/devices/:id/pause | resume | activate | deactivate → DeviceEntry; POST /api/devices/:id/rename { name } → DeviceEntry
// DELETE /api/devices/:id → 204
// POST /api/devices/:id/test → TestResult

/** What became of a test: it goes the way of every notification, over one channel, and is in the inbox too. */
export interface TestResult {
  isSent: boolean;
  /** How far it got by then, where it was sent. `queued` and `delivered`: with the embedded broker. */
  state: 'sent' | 'queued' | 'delivered' | null;
  notificationId: string;
  /** What happened, when it was not sent. */
  error: string | null;
}

/** GET /api/keys → { keys }; DELETE /api/keys/:id revokes → KeyEntry */
export interface KeyEntry {
  id: string;
  type: KeyType;
  label: string | null;
  allowedDomains: string[];
  requireSignature: boolean;
  /** As `100/m`. */
  rateLimit: string | null;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
}

/** POST /api/keys → 201 CreatedKeyEntry */
export interface NewKey {
  type: 'public_client' | 'internal_service';
  label: string | null;
  allowedDomains: string[];
  requireSignature: boolean;
  rateLimit: string | null;
  expiresAt: number | null;
}

export interface CreatedKeyEntry {
  key: KeyEntry;
  /** Shown this once. */
  value: string;
}

/** GET /api/push-targets → { pushTargets }; DELETE /api/push-targets/:id → 204; POST /api/push-targets/:id/test → TestResult */
export interface PushTargetEntry {
  id: string;
  provider: 'webpush' | 'fcm' | 'apns';
  label: string | null;
  createdAt: number;
  /** When the provider said that it is no more. */
  disabledAt: number | null;
  /** SHA-256 of the endpoint, base64url, for Web Push: how a browser finds itself in the list. */
  endpointDigest: string | null;
}

/** POST /api/push-targets → 201 PushTargetEntry; the same endpoint again replaces the one before. */
export interface NewWebPushTarget {
  label: string;
  subscription: { endpoint: string; keys: { p256dh: string; auth: string } };
}

export interface QuietSpanEntry {
  /** HH:MM */
  from: string;
  to: string;
}

/** GET /api/preferences; PUT /api/preferences with the same. */
export interface Preferences {
  name: string;
  emailAlerts: boolean;
  quietHours: {
    timeZone: string;
    push: QuietSpanEntry | null;
    email: QuietSpanEntry | null;
    mqtt: QuietSpanEntry | null;
  } | null;
  /** null: as long as the service keeps everybody's. */
  retentionDays: number | null;
}

/**
 * POST /api/preferences/email { email: string | null }: with a mail server the new address gets a link that confirms it
 * (`confirmation: true`), without one it holds at once; 409 conflict where it would then stand for somebody of an OpenID
 * provider. POST /api/preferences/test-mail → TestResult
 */
export interface EmailChange {
  email: string | null;
  confirmation: boolean;
}

// ── Operators ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** GET /api/operator/owners → { owners }; operators alone. Never anything of what owners are told. */
export interface OwnerOverview {
  id: string;
  name: string;
  email: string | null;
  role: 'owner' | 'operator';
  createdAt: number;
  keys: number;
  devices: number;
  pushTargets: number;
  waiting: number;
  dead: number;
  newestAt: number | null;
}

/** POST /api/operator/owners { name, email } → 201 OwnerOverview; with an e-mail and a mail server, a sign-in link is mailed to it. */
export interface NewOwner {
  name: string;
  email: string | null;
}

// POST /api/operator/owners/:id/invite → 202: mails a sign-in link to the address of the owner
