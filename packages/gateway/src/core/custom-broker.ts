// `mqttConnection` and `mqttConfig`: the broker that a request specifies, checked member by member. Problems never
// quote a value, because it may be a credential.
import { isIP } from 'node:net';
import {
  type CustomBroker,
  connectionModes,
  type ErrorDetail,
  type JsonObject,
  type JsonValue,
  limits,
  mqttConfigDefaults,
  mqttConfigSpellings,
} from '@tocsin/contract';
import { isAbsent } from './absent.ts';
import { type AddressPolicy, isAddressAllowed } from './address-policy.ts';
import { parseJson } from './parse-body.ts';

type Member = keyof typeof mqttConfigSpellings;
type Members = Map<Member, JsonValue>;

const memberBySpelling: ReadonlyMap<string, Member> = new Map(
  (Object.entries(mqttConfigSpellings) as [Member, readonly string[]][]).flatMap(([name, spellings]) =>
    [name, ...spellings].map((spelling) => [spelling, name] as const),
  ),
);

export function readCustomBroker(
  connection: JsonValue | undefined,
  config: JsonValue | undefined,
  policy: AddressPolicy,
  problems: ErrorDetail[],
): CustomBroker | null {
  const mode = readMode(connection, problems);
  if (mode !== 'custom') return null;
  const members = readObject(config);
  if (members === undefined || Object.keys(members).length === 0) {
    problems.push({ field: 'mqttConfig', problem: 'is needed with mqttConnection.mode "custom", as an object' });
    return null;
  }
  const known = readMembers(members);
  if (known === undefined) {
    const spellings = [...memberBySpelling.keys()].join(', ');
    problems.push({ field: 'mqttConfig', problem: `has an unknown member; known are ${spellings}` });
    return null;
  }
  const found: ErrorDetail[] = [];
  const broker = readBroker(known, policy, found);
  problems.push(...found);
  return found.length > 0 ? null : broker;
}

function readMode(connection: JsonValue | undefined, problems: ErrorDetail[]): string | undefined {
  if (isAbsent(connection)) return undefined;
  const members = readObject(connection);
  if (members === undefined) {
    problems.push({ field: 'mqttConnection', problem: 'must be an object' });
    return undefined;
  }
  const mode = isAbsent(members.mode) ? 'environment' : members.mode;
  const known = connectionModes.find((name) => name === mode);
  if (known === undefined) {
    problems.push({ field: 'mqttConnection.mode', problem: `must be ${connectionModes.join(' or ')}` });
  }
  return known;
}

function readObject(value: JsonValue | undefined): JsonObject | undefined {
  if (typeof value === 'string') return parseJson(value);
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : undefined;
}

function readBroker(members: Members, policy: AddressPolicy, problems: ErrorDetail[]): CustomBroker {
  const text = (name: Member): string | null => readText(members, name, problems);
  const address = readAddress(
    { url: text('url'), host: text('host'), port: text('port'), path: text('path'), protocol: text('protocol') },
    policy,
    problems,
  );
  return {
    ...address,
    username: text('username'),
    password: text('password'),
    clientId: text('clientId'),
    topic: readTopic(text('topic'), problems),
  };
}

/** Maps the accepted spellings to one name each; undefined if there is an unknown member. */
function readMembers(config: JsonObject): Members | undefined {
  const members: Members = new Map();
  for (const [spelling, value] of Object.entries(config)) {
    const name = memberBySpelling.get(spelling);
    if (name === undefined) return undefined;
    if (value !== null && value !== '' && (!members.has(name) || spelling === name)) members.set(name, value);
  }
  return members;
}

function readText(members: Members, name: Member, problems: ErrorDetail[]): string | null {
  const value = members.get(name);
  if (value === undefined) return null;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && name === 'port') return String(value);
  problems.push({ field: `mqttConfig.${name}`, problem: 'must be text' });
  return null;
}

function readAddress(
  given: Record<'url' | 'host' | 'port' | 'path' | 'protocol', string | null>,
  policy: AddressPolicy,
  problems: ErrorDetail[],
): Pick<CustomBroker, 'host' | 'port' | 'path'> {
  const nowhere = { host: '', port: 0, path: '' };
  const refuse = (member: string, problem: string): typeof nowhere => {
    problems.push({ field: `mqttConfig.${member}`, problem });
    return nowhere;
  };
  if (given.protocol !== null && !/^wss(:(\/\/)?)?$/i.test(given.protocol.trim()))
    return refuse('protocol', 'must be wss');
  if (given.url === null && given.host === null) return refuse('host', 'is needed, or url');
  if (given.url !== null && (given.host ?? given.port ?? given.path) !== null) {
    return refuse('url', 'cannot be combined with host, port or path');
  }
  if (given.port !== null && !isPort(given.port)) return refuse('port', 'must be from 1 to 65535');
  const member = given.url !== null ? 'url' : 'host';
  const url = given.url !== null ? parseUrl(given.url) : composeUrl(given.host as string, given.port, given.path);
  if (url?.protocol !== 'wss:') return refuse(member, 'must be a wss:// address');
  if (url.username !== '' || url.password !== '')
    return refuse(member, 'must not hold credentials; use username and password');
  if (url.port === '0') return refuse('port', 'must be from 1 to 65535');
  if (!isHostAllowed(url.hostname, policy)) return refuse(member, 'must be a public address');
  return {
    host: url.hostname,
    port: url.port === '' ? 443 : Number(url.port),
    path: url.pathname + url.search,
  };
}

function parseUrl(text: string): URL | null {
  return URL.parse(text.trim());
}

function isPort(text: string): boolean {
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : 0;
  return port >= 1 && port <= 65_535;
}

/** Accepts only a bare host, so that a slash, an @ or a port in it cannot change the address. */
function composeUrl(host: string, port: string | null, path: string | null): URL | null {
  const bare = host.trim();
  if (!/^(\[[0-9A-Fa-f:.]+\]|[^\s/\\?#@:[\]]+)$/.test(bare)) return null;
  const suffix = path === null ? mqttConfigDefaults.path : path.startsWith('/') ? path : `/${path}`;
  return URL.parse(`wss://${bare}:${port?.trim() ?? mqttConfigDefaults.port}${suffix}`);
}

/** The URL parser has turned every notation of an IPv4 address (0x7f.1, 2130706433, 127.1) into four decimal parts. */
function isHostAllowed(hostname: string, policy: AddressPolicy): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) !== 0) return isAddressAllowed(host, policy);
  if (host === 'localhost' || host.endsWith('.localhost')) return isAddressAllowed('127.0.0.1', policy);
  return host !== '';
}

function readTopic(topic: string | null, problems: ErrorDetail[]): string | null {
  if (topic === null) return null;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: MQTT forbids U+0000 in a topic (section 4.7.3).
  const isPublishable = !/[+#\u0000]/.test(topic) && !topic.startsWith('$');
  if (isPublishable && Buffer.byteLength(topic) <= limits.customTopicBytes) return topic;
  problems.push({
    field: 'mqttConfig.topic',
    problem: `must have no wildcard, not start with $ and fit into ${limits.customTopicBytes} bytes`,
  });
  return null;
}
