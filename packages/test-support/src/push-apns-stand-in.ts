// Stands in for APNs, and refuses what it refuses, with its reasons.
import { generateKeyPairSync } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http2';
import type { ApnsConfig } from '../../gateway/src/channels/push/config.ts';
import { type Answer, PushHttp2Server, type Received, type Reply } from './push-http2-server.ts';
import { readJwt } from './push-jwt.ts';
import type { IssuedCertificate } from './tls-ca.ts';

export interface ApnsAccepted {
  deviceToken: string;
  headers: IncomingHttpHeaders;
  payload: Record<string, unknown> & { aps: Record<string, unknown> };
  bytes: number;
}

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const keyId = 'ABC123DEFG';
const teamId = 'DEF123GHIJ';
const topic = 'com.example.app';

export function apnsError(status: number, reason: string, headers: Record<string, string> = {}): Answer {
  return { status, headers, body: { reason } };
}

export class ApnsStandIn {
  readonly server: PushHttp2Server;
  readonly clock: { now: number };
  readonly accepted: ApnsAccepted[] = [];
  readonly providerTokens = new Set<string>();
  /** If it returns a reply, that replaces the regular response. */
  reply: (deviceToken: string, request: Received) => Reply | undefined = () => undefined;
  config: ApnsConfig = {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    keyId,
    teamId,
    topic,
    endpoint: '',
  };

  private constructor(clock: { now: number }, certificate?: IssuedCertificate, maxConcurrentStreams?: number) {
    this.clock = clock;
    this.server = new PushHttp2Server((request) => this.#respond(request), certificate, maxConcurrentStreams);
  }

  static async start(
    clock: { now: number },
    { certificate, maxConcurrentStreams }: { certificate?: IssuedCertificate; maxConcurrentStreams?: number } = {},
  ): Promise<ApnsStandIn> {
    const standIn = new ApnsStandIn(clock, certificate, maxConcurrentStreams);
    standIn.config = { ...standIn.config, endpoint: await standIn.server.listen() };
    return standIn;
  }

  #respond(request: Received): Reply {
    const { path, headers, body } = request;
    const [, deviceToken] = /^\/3\/device\/(.*)$/.exec(path) ?? [];
    if (deviceToken === undefined) return apnsError(404, 'BadPath');
    const special = this.reply(deviceToken, request);
    if (special !== undefined) return special;
    const problem =
      this.#authorizationProblem(headers.authorization) ?? headerProblem(headers) ?? payloadProblem(deviceToken, body);
    if (problem !== null) return problem;
    this.accepted.push({ deviceToken, headers, payload: JSON.parse(body), bytes: Buffer.byteLength(body) });
    return { status: 200, headers: { 'apns-id': String(headers['apns-id'] ?? '') } };
  }

  #authorizationProblem(authorization: string | undefined): Answer | null {
    const [, token] = /^bearer (\S+)$/.exec(authorization ?? '') ?? [];
    if (token === undefined) return apnsError(403, 'MissingProviderToken');
    const jwt = readJwt(token, 'ES256', publicKey);
    const issuedAt = Number(jwt?.claims.iat);
    const age = this.clock.now / 1000 - issuedAt;
    if (jwt?.header.kid !== keyId || jwt.claims.iss !== teamId || !(age >= -1)) {
      return apnsError(403, 'InvalidProviderToken');
    }
    this.providerTokens.add(token);
    return age > 3600 ? apnsError(403, 'ExpiredProviderToken') : null;
  }
}

function headerProblem(headers: IncomingHttpHeaders): Answer | null {
  const read = (name: string): string => String(headers[name] ?? '');
  if (read('apns-topic') === '') return apnsError(400, 'MissingTopic');
  if (read('apns-topic') !== topic) return apnsError(400, 'TopicDisallowed');
  if (!['alert', 'background'].includes(read('apns-push-type'))) return apnsError(400, 'InvalidPushType');
  if (!['10', '5', '1'].includes(read('apns-priority'))) return apnsError(400, 'BadPriority');
  if (!/^\d+$/.test(read('apns-expiration'))) return apnsError(400, 'BadExpirationDate');
  if (Buffer.byteLength(read('apns-collapse-id')) > 64) return apnsError(400, 'BadCollapseId');
  if (!/^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$/.test(read('apns-id'))) return apnsError(400, 'BadMessageId');
  return null;
}

function payloadProblem(deviceToken: string, body: string): Answer | null {
  if (!/^[0-9a-f]{64,200}$/i.test(deviceToken)) return apnsError(400, 'BadDeviceToken');
  if (body === '') return apnsError(400, 'PayloadEmpty');
  if (Buffer.byteLength(body) > 4096) return apnsError(413, 'PayloadTooLarge');
  const { aps } = JSON.parse(body) as { aps?: { alert?: unknown } };
  return typeof aps?.alert === 'object' ? null : apnsError(400, 'BadPayload');
}
