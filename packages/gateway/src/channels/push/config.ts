// The environment variables of the push channel.
import { parseTimeout, type SettingsReader, timeoutWanted } from '../../core/settings-reader.ts';

export interface PushConfig {
  timeoutMs: number;
  /** Contact for push services: mailto: or https:. */
  webPushSubject: string;
  /** Push services in addition to the known ones. */
  webPushHosts: string[];
  /** null: not configured. */
  fcm: FcmConfig | null;
  apns: ApnsConfig | null;
}

export interface FcmConfig {
  clientEmail: string;
  privateKey: string;
  projectId: string;
  tokenUrl: string;
  endpoint: string;
}

export interface ApnsConfig {
  key: string;
  keyId: string;
  teamId: string;
  topic: string;
  endpoint: string;
}

export const defaultWebPushSubject = 'https://localhost';

export function readPushConfig(read: SettingsReader): PushConfig {
  return {
    timeoutMs: read.value('TOCSIN_PUSH_TIMEOUT_MS', 5000, timeoutWanted, parseTimeout),
    webPushSubject: read.value(
      'TOCSIN_WEBPUSH_SUBJECT',
      defaultWebPushSubject,
      'a mailto: or https: address',
      (text) => (/^(mailto:|https:\/\/)./.test(text) ? text : undefined),
    ),
    webPushHosts: read.value('TOCSIN_WEBPUSH_HOSTS', [], 'host names, separated by commas', parseHosts),
    fcm: readFcm(read),
    apns: readApns(read),
  };
}

function readFcm(read: SettingsReader): FcmConfig | null {
  const endpoint = read.value('TOCSIN_FCM_ENDPOINT', 'https://fcm.googleapis.com', 'an https address', parseHttpUrl);
  const account = read.secret('TOCSIN_FCM_CREDENTIALS', 'the JSON of a service account', parseServiceAccount);
  return account && { ...account, endpoint };
}

function readApns(read: SettingsReader): ApnsConfig | null {
  const key = read.secret('TOCSIN_APNS_KEY', 'the text of the .p8 key', (text) =>
    text.includes('-----BEGIN PRIVATE KEY-----') ? text : undefined,
  );
  const readId = (name: string): string =>
    read.value(name, '', 'ten letters and digits', (text) => (/^[A-Z0-9]{10}$/.test(text) ? text : undefined));
  const keyId = readId('TOCSIN_APNS_KEY_ID');
  const teamId = readId('TOCSIN_APNS_TEAM_ID');
  const topic = read.value('TOCSIN_APNS_TOPIC', '', 'the bundle id of the app', (text) => text);
  const endpoint = read.value('TOCSIN_APNS_ENDPOINT', 'https://api.push.apple.com', 'an https address', parseHttpUrl);
  if (key === null) return null;
  if (!keyId || !teamId || !topic) {
    read.problem('TOCSIN_APNS_KEY needs TOCSIN_APNS_KEY_ID, TOCSIN_APNS_TEAM_ID and TOCSIN_APNS_TOPIC beside it.');
  }
  return { key, keyId, teamId, topic, endpoint };
}

function parseHosts(text: string): string[] | undefined {
  const hosts = text.split(',').map((host) => host.trim().toLowerCase());
  return hosts.every((host) => /^(\*\.)?[a-z0-9.-]+(:\d{1,5})?$/.test(host)) ? hosts : undefined;
}

function parseHttpUrl(text: string): string | undefined {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? '') ? text.replace(/\/$/, '') : undefined;
}

function parseServiceAccount(text: string): Omit<FcmConfig, 'endpoint'> | undefined {
  try {
    const account = JSON.parse(text) as Record<string, unknown>;
    const read = (name: string): string | undefined => {
      const value = account[name];
      return typeof value === 'string' && value !== '' ? value : undefined;
    };
    const [clientEmail, privateKey, projectId] = [read('client_email'), read('private_key'), read('project_id')];
    if (clientEmail === undefined || privateKey === undefined || projectId === undefined) return undefined;
    const tokenUrl = parseHttpUrl(read('token_uri') ?? 'https://oauth2.googleapis.com/token');
    return tokenUrl === undefined ? undefined : { clientEmail, privateKey, projectId, tokenUrl };
  } catch {
    return undefined;
  }
}
