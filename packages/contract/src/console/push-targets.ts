// Browsers and apps that receive push.
import type { Operation } from './route.ts';
import { array, integer, nullable, object, oneOf, optionalLine, type TypeOf, text } from './schema.ts';
import { testResult } from './test-result.ts';

const pushTargetEntry = object({
  id: text(),
  provider: oneOf(['webpush', 'fcm', 'apns']),
  label: nullable(text()),
  createdAt: integer(),
  /** When the provider reported that the subscription has expired. */
  disabledAt: nullable(integer()),
  /** SHA-256 of the endpoint in base64url, for Web Push: how a browser finds its own entry. */
  endpointDigest: nullable(text()),
});
export type PushTargetEntry = TypeOf<typeof pushTargetEntry>;

const newWebPushTarget = object({
  label: optionalLine(200),
  /** A PushSubscriptionJSON. The console checks it as a whole and reports its problems as those of `subscription`. */
  subscription: object({}, { endpoint: text(), keys: object({}, { p256dh: text(), auth: text() }) }),
});
export type NewWebPushTarget = TypeOf<typeof newWebPushTarget>;

export const pushTargetOperations = {
  listPushTargets: { response: object({ pushTargets: array(pushTargetEntry) }) },
  /** Replaces an earlier target with the same endpoint. */
  addPushTarget: { body: newWebPushTarget, status: 201, response: pushTargetEntry },
  deletePushTarget: { status: 204 },
  testPushTarget: { response: testResult },
} as const satisfies Record<string, Operation>;
