// Every route of the console API: the one place where a path is written. The app imports these at run time and the schemas
// (`…Operations`, beside this file) as types only, so that no schema becomes part of its bundle.
import type { apiDescriptionOperations } from './api-description.ts';
import type { deviceOperations } from './devices.ts';
import type { inboxOperations } from './inbox.ts';
import type { keyOperations } from './keys.ts';
import type { ownerOperations } from './owners.ts';
import type { passkeyOperations } from './passkeys.ts';
import type { pushTargetOperations } from './push-targets.ts';
import type { RoutesOf } from './route.ts';
import type { sessionOperations } from './sessions.ts';
import type { settingsOperations } from './settings.ts';
import type { signInOperations } from './sign-in.ts';

export const signInRoutes = {
  getSignInOptions: 'GET /sign-in',
  previewLink: 'POST /sign-in/link/look',
  useLink: 'POST /sign-in/link',
  requestLink: 'POST /sign-in/mail',
  getPasskeySignInOptions: 'POST /sign-in/passkey/options',
  signInWithPasskey: 'POST /sign-in/passkey',
  beginOidc: 'GET /sign-in/oidc',
  finishOidc: 'GET /sign-in/oidc/callback',
  getSession: 'GET /session',
  createPhoneLink: 'POST /phone-link',
  signOut: 'POST /sign-out',
} as const satisfies RoutesOf<typeof signInOperations>;

export const sessionRoutes = {
  listSessions: 'GET /sessions',
  deleteSession: 'DELETE /sessions/:id',
  signOutOthers: 'POST /sessions/sign-out-others',
} as const satisfies RoutesOf<typeof sessionOperations>;

export const passkeyRoutes = {
  listPasskeys: 'GET /passkeys',
  getPasskeyOptions: 'POST /passkeys/options',
  addPasskey: 'POST /passkeys',
  deletePasskey: 'DELETE /passkeys/:id',
} as const satisfies RoutesOf<typeof passkeyOperations>;

export const inboxRoutes = {
  listNotifications: 'GET /notifications',
  countUnread: 'GET /notifications/unread',
  searchNotifications: 'GET /notifications/search',
  getNotification: 'GET /notifications/:id',
  retryDeliveries: 'POST /notifications/:id/retry',
  markRead: 'POST /notifications/read',
  markAllRead: 'POST /notifications/read-all',
  undoMarkAllRead: 'POST /notifications/read-all/undo',
  deleteNotifications: 'POST /notifications/delete',
  restoreNotifications: 'POST /notifications/restore',
  streamEvents: 'GET /events',
} as const satisfies RoutesOf<typeof inboxOperations>;

export const deviceRoutes = {
  listDevices: 'GET /devices',
  createDevice: 'POST /devices',
  renewPassword: 'POST /devices/:id/password',
  renameDevice: 'POST /devices/:id/rename',
  pauseDevice: 'POST /devices/:id/pause',
  resumeDevice: 'POST /devices/:id/resume',
  activateDevice: 'POST /devices/:id/activate',
  deactivateDevice: 'POST /devices/:id/deactivate',
  deleteDevice: 'DELETE /devices/:id',
  testDevice: 'POST /devices/:id/test',
} as const satisfies RoutesOf<typeof deviceOperations>;

export const pushTargetRoutes = {
  listPushTargets: 'GET /push-targets',
  addPushTarget: 'POST /push-targets',
  deletePushTarget: 'DELETE /push-targets/:id',
  testPushTarget: 'POST /push-targets/:id/test',
} as const satisfies RoutesOf<typeof pushTargetOperations>;

export const keyRoutes = {
  listKeys: 'GET /keys',
  createKey: 'POST /keys',
  revokeKey: 'DELETE /keys/:id',
} as const satisfies RoutesOf<typeof keyOperations>;

export const settingsRoutes = {
  getPreferences: 'GET /preferences',
  updatePreferences: 'PUT /preferences',
  changeEmail: 'POST /preferences/email',
  sendTestEmail: 'POST /preferences/test-mail',
} as const satisfies RoutesOf<typeof settingsOperations>;

export const ownerRoutes = {
  listOwners: 'GET /operator/owners',
  createOwner: 'POST /operator/owners',
  inviteOwner: 'POST /operator/owners/:id/invite',
} as const satisfies RoutesOf<typeof ownerOperations>;

export const apiDescriptionRoutes = {
  getOpenApi: 'GET /openapi.json',
} as const satisfies RoutesOf<typeof apiDescriptionOperations>;
