// Stands in for FCM's HTTP v1 API and Google's token service, and refuses what they refuse.
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import type { FcmConfig } from '../../gateway/src/channels/push/config.ts';
import { type Answer, PushHttp2Server, type Received, type Reply } from './push-http2-server.ts';
import { readJwt } from './push-jwt.ts';
import type { IssuedCertificate } from './tls-ca.ts';

export interface FcmMessage {
  token: string;
  notification: { title: string; body: string };
  data: Record<string, string>;
  android: { priority: string; ttl: string; collapse_key: string; notification: { tag: string } };
  apns: { headers: Record<string, string>; payload: { aps: Record<string, unknown> } };
}

const clientEmail = 'tocsin@test-project.iam.gserviceaccount.com';
const projectId = 'test-project';
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
export const servicePrivateKey = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;

export function fcmError(code: number, status: string, errorCode?: string): Answer {
  const details = errorCode && [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }];
  return { status: code, body: { error: { code, message: `canary ${status}`, status, ...(details && { details }) } } };
}

export class FcmStandIn {
  readonly server: PushHttp2Server;
  readonly clock: { now: number };
  readonly accepted: FcmMessage[] = [];
  tokenRequests = 0;
  /** Lifetime of the access tokens that it issues. */
  expiresInSeconds = 3599;
  /** If it returns a reply, that replaces the regular response. */
  replyToMessage: (message: FcmMessage, request: Received) => Reply | undefined = () => undefined;
  replyToTokenRequest: () => Reply | undefined = () => undefined;
  config: FcmConfig = { clientEmail, privateKey: servicePrivateKey, projectId, tokenUrl: '', endpoint: '' };
  readonly #accessTokens = new Map<string, number>();

  private constructor(clock: { now: number }, certificate?: IssuedCertificate) {
    this.clock = clock;
    this.server = new PushHttp2Server((request) => this.#respond(request), certificate);
  }

  static async start(clock: { now: number }, certificate?: IssuedCertificate): Promise<FcmStandIn> {
    const standIn = new FcmStandIn(clock, certificate);
    const origin = await standIn.server.listen();
    standIn.config = { ...standIn.config, tokenUrl: `${origin}/token`, endpoint: origin };
    return standIn;
  }

  /** The settings of a gateway that uses this server. */
  get environment(): Record<string, string> {
    const { clientEmail: client_email, privateKey: private_key, projectId: project_id } = this.config;
    const account = { type: 'service_account', client_email, private_key, project_id, token_uri: this.config.tokenUrl };
    return { TOCSIN_FCM_ENDPOINT: this.config.endpoint, TOCSIN_FCM_CREDENTIALS: JSON.stringify(account) };
  }

  /** Revokes all access tokens that were issued so far. */
  revokeAccessTokens(): void {
    this.#accessTokens.clear();
  }

  #respond(request: Received): Reply {
    if (request.path === '/token') return this.#giveToken(request);
    if (request.path !== `/v1/projects/${projectId}/messages:send`)
      return { status: 404, body: '<html>Not Found</html>' };
    const [, accessToken = ''] = /^Bearer ([\x21-\x7e]+)$/.exec(request.headers.authorization ?? '') ?? [];
    if ((this.#accessTokens.get(accessToken) ?? 0) <= this.clock.now) return fcmError(401, 'UNAUTHENTICATED');
    if (request.headers['content-type'] !== 'application/json') return fcmError(400, 'INVALID_ARGUMENT');
    const { message } = JSON.parse(request.body) as { message: FcmMessage };
    const special = this.replyToMessage(message, request);
    if (special !== undefined) return special;
    if (problemOf(message) !== null)
      return fcmError(400, `INVALID_ARGUMENT: ${problemOf(message)}`, 'INVALID_ARGUMENT');
    this.accepted.push(message);
    return { status: 200, body: { name: `projects/${projectId}/messages/${this.accepted.length}` } };
  }

  #giveToken({ headers, body }: Received): Reply {
    this.tokenRequests += 1;
    const special = this.replyToTokenRequest();
    if (special !== undefined) return special;
    const form = new URLSearchParams(body);
    const isGood =
      headers['content-type'] === 'application/x-www-form-urlencoded' &&
      form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
      isGoodAssertion(form.get('assertion') ?? '', publicKey, this.config.tokenUrl, this.clock.now / 1000);
    if (!isGood) return { status: 400, body: { error: 'invalid_grant', error_description: 'canary Invalid JWT' } };
    const accessToken = `ya29.${randomBytes(60).toString('base64url')}`;
    this.#accessTokens.set(accessToken, this.clock.now + this.expiresInSeconds * 1000);
    return {
      status: 200,
      body: { access_token: accessToken, expires_in: this.expiresInSeconds, token_type: 'Bearer' },
    };
  }
}

/** https://developers.google.com/identity/protocols/oauth2/service-account#jwt-auth */
function isGoodAssertion(assertion: string, key: KeyObject, audience: string, now: number): boolean {
  const claims = readJwt(assertion, 'RS256', key)?.claims;
  if (claims === undefined) return false;
  const { iss, scope, aud, iat, exp } = claims as Record<string, string> & { iat: number; exp: number };
  const isTimely = iat <= now + 1 && exp > now && exp - iat <= 3600;
  const wantedScope = 'https://www.googleapis.com/auth/firebase.messaging';
  return iss === clientEmail && scope === wantedScope && aud === audience && isTimely;
}

/** As strict as the JSON parser of FCM: a name that is not in the schema is an error. */
function problemOf(message: FcmMessage): string | null {
  const { token, notification, data, android, apns } = message;
  const hasOnly = (value: object, names: string[]): boolean => Object.keys(value).every((name) => names.includes(name));
  if (!hasOnly(message, ['token', 'notification', 'data', 'android', 'apns'])) return 'message';
  if (typeof token !== 'string' || token === '') return 'token';
  if (!hasOnly(notification, ['title', 'body', 'image'])) return 'notification';
  if (Object.values(data).some((value) => typeof value !== 'string')) return 'data';
  if (Object.keys(data).some((name) => /^(from|message_type|google.*|gcm.*)$/.test(name)))
    return 'reserved name in data';
  if (!hasOnly(android, ['collapse_key', 'priority', 'ttl', 'notification'])) return 'android';
  if (!['NORMAL', 'HIGH'].includes(android.priority)) return 'android.priority';
  const [, seconds] = /^(\d+)s$/.exec(android.ttl) ?? [];
  if (seconds === undefined || Number(seconds) > 2_419_200) return 'android.ttl';
  if (!hasOnly(apns, ['headers', 'payload'])) return 'apns';
  if (Object.values(apns.headers).some((value) => typeof value !== 'string')) return 'apns.headers';
  if (typeof apns.payload.aps !== 'object') return 'apns.payload';
  return Buffer.byteLength(JSON.stringify({ notification, data })) > 4096 ? 'message too big' : null;
}
