// Stands in for the push services of browsers and for the browsers behind them: it decrypts with http_ece, which is not ours.
import { createECDH, createPublicKey, type ECDH, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import type { WebPushDial } from '../../gateway/src/channels/push/web-push-dial.ts';
import { readJwt } from './push-jwt.ts';

interface EceOptions {
  version: 'aes128gcm';
  privateKey: ECDH;
  authSecret: Buffer;
}

const ece = createRequire(import.meta.url)('http_ece') as { decrypt(body: Buffer, options: EceOptions): Buffer };

export interface ReceivedPush {
  url: string;
  headers: Record<string, string>;
  /** The claims of the VAPID token. */
  claims: Record<string, unknown>;
  text: string;
}

export interface PushReply {
  status: number;
  headers?: Record<string, string>;
}

interface Browser {
  keys: ECDH;
  auth: Buffer;
}

export class WebPushStandIn {
  readonly clock: { now: number };
  readonly received: ReceivedPush[] = [];
  /** The reasons of its refusals. */
  readonly complaints: string[] = [];
  /** The only accepted key: the one with which the browser subscribed. */
  readonly applicationServerKey: string;
  /** If it returns a reply, that replaces the regular response. */
  reply: (url: URL, signal: AbortSignal) => PushReply | Promise<PushReply> | undefined = () => undefined;
  readonly #browsers = new Map<string, Browser>();

  constructor(clock: { now: number }, applicationServerKey: string) {
    this.clock = clock;
    this.applicationServerKey = applicationServerKey;
  }

  /** Subscribes a browser, and returns the JSON of its PushSubscription. */
  subscribe(origin = 'https://fcm.googleapis.com'): string {
    const keys = createECDH('prime256v1');
    keys.generateKeys();
    const auth = randomBytes(16);
    const endpoint = `${origin}/wpush/v2/${randomBytes(24).toString('base64url')}`;
    this.#browsers.set(endpoint, { keys, auth });
    const encoded = { p256dh: keys.getPublicKey('base64url'), auth: auth.toString('base64url') };
    return JSON.stringify({ endpoint, expirationTime: null, keys: encoded });
  }

  readonly dial: WebPushDial = async (url, request, signal) => {
    const reply = (await this.reply(url, signal)) ?? this.#take(url, request);
    return { headers: {}, ...reply };
  };

  #take(url: URL, { headers, body }: Parameters<WebPushDial>[1]): PushReply {
    const refuse = (status: number, complaint: string): PushReply => {
      this.complaints.push(complaint);
      return { status };
    };
    const browser = this.#browsers.get(url.href);
    if (browser === undefined) return { status: 410 };
    if (headers['content-encoding'] !== 'aes128gcm') return refuse(400, 'content-encoding');
    if (!/^\d{1,10}$/.test(headers.ttl ?? '')) return refuse(400, 'ttl');
    if (!['very-low', 'low', 'normal', 'high'].includes(headers.urgency ?? 'normal')) return refuse(400, 'urgency');
    if (!/^[A-Za-z0-9_-]{1,32}$/.test(headers.topic ?? 'x')) return refuse(400, 'topic');
    if (body.length > 4096) return refuse(413, 'size');
    const claims = this.#readVapid(headers.authorization ?? '', url.origin);
    if (typeof claims === 'string') return refuse(403, claims);
    const plaintext = ece.decrypt(body, { version: 'aes128gcm', privateKey: browser.keys, authSecret: browser.auth });
    const text = new TextDecoder('utf-8', { fatal: true }).decode(plaintext);
    this.received.push({ url: url.href, headers, claims, text });
    return { status: 201, headers: { location: `${url.origin}/message/1` } };
  }

  /** RFC 8292 sections 2, 3 and 4.2: the claims, or what is wrong with them. */
  #readVapid(authorization: string, origin: string): Record<string, unknown> | string {
    const [, token = '', key = ''] = /^vapid t=([^,\s]+), ?k=([A-Za-z0-9_-]+)$/.exec(authorization) ?? [];
    if (key !== this.applicationServerKey) return 'the key is not that of the subscription';
    const point = Buffer.from(key, 'base64url');
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
    const publicKey = createPublicKey({
      key: { kty: 'EC', crv: 'P-256', x: x as string, y: y as string },
      format: 'jwk',
    });
    const claims = readJwt(token, 'ES256', publicKey)?.claims;
    if (claims === undefined) return 'signature';
    const left = Number(claims.exp) - this.clock.now / 1000;
    if (!(left > 0 && left <= 24 * 60 * 60)) return 'exp';
    if (claims.aud !== origin) return 'aud';
    return /^(mailto:|https:)/.test(String(claims.sub)) ? claims : 'sub';
  }
}
