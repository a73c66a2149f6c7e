// The environment → Config, or all problems at once. Each secret can also be read from the file in its _FILE variable.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { limits, parseRate, type Rate } from '@tocsin/contract';
import { channels } from '../channels/registry.ts';
import { parseNetwork } from '../core/address-policy.ts';
import type { ChannelSettings } from '../core/channel.ts';
import { databaseUrlWanted, parseDatabaseUrl } from '../core/database-url.ts';
import { describeFileError } from '../core/file-error.ts';
import { isImportable } from '../core/key-format.ts';
import { type GivenMasterKeys, parseMasterKeys } from '../core/master-key-format.ts';
import { Problem } from '../core/problem.ts';
import { parseInteger, type SettingsReader } from '../core/settings-reader.ts';
import {
  type OidcConfig,
  type PublicAddresses,
  readOidcConfig,
  readPublicAddresses,
  readSessionDays,
} from './console.ts';
import { readTraceConfig, type TraceConfig } from './traces.ts';

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

type Network = NonNullable<ReturnType<typeof parseNetwork>>;

export interface Config {
  host: string;
  port: number;
  consolePort: number;
  /** Public addresses for people, callers and devices. */
  publicAddresses: PublicAddresses;
  /** null: sign-in with an OpenID provider is not configured. */
  oidc: OidcConfig | null;
  /** Maximum lifetime of a session in days, even if it is used. */
  sessionMaxDays: number;
  /** null: the listeners use plain HTTP. */
  tls: { certFile: string; keyFile: string } | null;
  dataDir: string;
  /** null: SQLite in the data directory. */
  databaseUrl: string | null;
  /** null: the file in the data directory. */
  masterKey: GivenMasterKeys | null;
  firstRun: boolean;
  firstKey: string | null;
  maxBodyBytes: number;
  rateLimit: Rate | null;
  /** Daily quota of stored notifications and bytes per owner; 0: no limit. */
  quota: { rows: number; bytes: number };
  /** Number of processes that serve the public API; 1: one process does everything. */
  workers: number;
  /** Connections of one address that have not authenticated; 0: no limit. */
  unauthenticatedConnections: number;
  trustedProxies: Network[];
  customBrokerAllow: Network[];
  /** Each channel reads its own variables. */
  channels: ChannelSettings;
  /** Maximum number of waiting deliveries per owner. */
  maxWaitingPerOwner: number;
  /** Maximum time that a response waits for all channels. */
  responseBudgetMs: number;
  /** 0: notifications are kept for ever. */
  retentionDays: number;
  /** null: metrics are served to this machine only. */
  metricsToken: string | null;
  /** null: tracing is off. */
  traces: TraceConfig | null;
  logLevel: LogLevel;
  /** Variables that begin with TOCSIN_ but are unknown, most likely typos. */
  unknownVariables: string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

export function readConfig(environment: Environment): Config {
  const problems: string[] = [];
  const asked = new Set<string>();

  /** Parses the value of a variable; if `parse` returns undefined, that is a problem. */
  function read<T>(name: string, fallback: T, wanted: string, parse: (text: string) => T | undefined): T {
    asked.add(name);
    const text = environment[name]?.trim();
    if (text === undefined || text === '') return fallback;
    const value = parse(text);
    if (value === undefined) problems.push(`${name} must be ${wanted}.`);
    return value ?? fallback;
  }

  function readSecret<T>(name: string, wanted: string, parse: (text: string) => T | undefined): T | null {
    asked.add(name).add(`${name}_FILE`);
    const file = environment[`${name}_FILE`]?.trim();
    if (!file) return read<T | null>(name, null, wanted, parse);
    if (environment[name]) problems.push(`Set ${name} or ${name}_FILE, not both.`);
    try {
      const value = parse(readFileSync(file, 'utf8').trim());
      if (value === undefined) problems.push(`The file in ${name}_FILE must contain ${wanted}.`);
      return value ?? null;
    } catch (error) {
      problems.push(`${name}_FILE: ${file} cannot be read: ${describeFileError(error)}.`);
      return null;
    }
  }

  const reader: SettingsReader = { value: read, secret: readSecret, problem: (text) => problems.push(text) };

  const wantedKey = '32 bytes as base64 or hex (openssl rand -base64 32)';
  const masterKeys = readSecret('TOCSIN_MASTER_KEY', wantedKey, parseMasterKeys);

  const config: Omit<Config, 'unknownVariables'> = {
    host: read('TOCSIN_HOST', '127.0.0.1', 'a host name or address', (text) => text),
    port: read('TOCSIN_PORT', 8080, 'a port from 0 to 65535', parsePort),
    consolePort: read('TOCSIN_CONSOLE_PORT', 8081, 'a port from 0 to 65535', parsePort),
    publicAddresses: readPublicAddresses(reader),
    oidc: readOidcConfig(reader, parseSwitch),
    sessionMaxDays: readSessionDays(reader),
    tls: readTls(reader),
    dataDir: resolve(read('TOCSIN_DATA_DIR', './data', 'a folder', (text) => text)),
    databaseUrl: readSecret('TOCSIN_DATABASE_URL', databaseUrlWanted, parseDatabaseUrl),
    masterKey: masterKeys && { keys: masterKeys, file: environment.TOCSIN_MASTER_KEY_FILE?.trim() || null },
    firstRun: read('TOCSIN_FIRST_RUN', true, 'on or off', parseSwitch),
    firstKey: readSecret('TOCSIN_FIRST_KEY', 'svc_ and at least 16 visible characters', (text) =>
      isImportable(text) ? text : undefined,
    ),
    maxBodyBytes: read(
      'TOCSIN_MAX_BODY_BYTES',
      limits.requestBytes,
      'a number of bytes from 1024 to 16777216',
      (text) => parseInteger(text, 1024, 16_777_216),
    ),
    rateLimit: read<Rate | null>('TOCSIN_RATE_LIMIT', null, 'a rate such as 100/m (s, m, h or d)', parseRate),
    quota: {
      rows: read('TOCSIN_QUOTA_ROWS_PER_DAY', 1_000_000, 'a number of notifications; 0: no limit', parseQuota),
      bytes: read('TOCSIN_QUOTA_BYTES_PER_DAY', 1_073_741_824, 'a number of bytes; 0: no limit', parseQuota),
    },
    workers: read('TOCSIN_WORKERS', 1, 'a number of processes from 1 to 64', (text) => parseInteger(text, 1, 64)),
    unauthenticatedConnections: read(
      'TOCSIN_UNAUTHENTICATED_CONNECTIONS',
      500,
      'a number of connections from 0 (no limit) to 1000000',
      (text) => parseInteger(text, 0, 1_000_000),
    ),
    trustedProxies: read('TOCSIN_TRUSTED_PROXIES', [], 'addresses or networks, separated by commas', parseNetworks),
    customBrokerAllow: read(
      'TOCSIN_MQTT_CUSTOM_ALLOW',
      [],
      'addresses or networks, separated by commas',
      parseNetworks,
    ),
    channels: new Map(channels.map((channel) => [channel.name, channel.settings(reader)])),
    maxWaitingPerOwner: read('TOCSIN_REDELIVERY_LIMIT', 10_000, 'a number of notifications from 0 to 1000000', (text) =>
      parseInteger(text, 0, 1_000_000),
    ),
    responseBudgetMs: read('TOCSIN_RESPONSE_BUDGET_MS', 3000, 'a number of milliseconds from 100 to 10000', (text) =>
      parseInteger(text, 100, 10_000),
    ),
    retentionDays: read('TOCSIN_RETENTION_DAYS', 90, 'a number of days from 0 (for ever) to 36500', (text) =>
      parseInteger(text, 0, 36_500),
    ),
    metricsToken: readSecret('TOCSIN_METRICS_TOKEN', 'at least 16 visible characters', (text) =>
      /^[!-~]{16,}$/.test(text) ? text : undefined,
    ),
    traces: readTraceConfig(reader),
    logLevel: read<LogLevel>('TOCSIN_LOG_LEVEL', 'info', `one of ${logLevels.join(', ')}`, (text) =>
      logLevels.find((level) => level === text),
    ),
  };

  if (problems.length > 0)
    throw new Problem(`The configuration has problems:\n${problems.map((text) => `- ${text}`).join('\n')}`);
  const unknownVariables = Object.keys(environment).filter((name) => name.startsWith('TOCSIN_') && !asked.has(name));
  return { ...config, unknownVariables };
}

/** Only paths: a user who runs a command beside the server may lack permission to read the key. */
function readTls(read: SettingsReader): Config['tls'] {
  const path = (name: string): string | null =>
    read.value<string | null>(name, null, 'the path of a PEM file', (text) => resolve(text));
  const [certFile, keyFile] = [path('TOCSIN_TLS_CERT'), path('TOCSIN_TLS_KEY')];
  if (certFile !== null && keyFile !== null) return { certFile, keyFile };
  if (certFile !== null) read.problem('TOCSIN_TLS_KEY is needed with TOCSIN_TLS_CERT: the path of its private key.');
  if (keyFile !== null) read.problem('TOCSIN_TLS_CERT is needed with TOCSIN_TLS_KEY: the path of its certificate.');
  return null;
}

function parseQuota(text: string): number | undefined {
  return parseInteger(text, 0, Number.MAX_SAFE_INTEGER);
}

function parsePort(text: string): number | undefined {
  return parseInteger(text, 0, 65_535);
}

export function parseSwitch(text: string): boolean | undefined {
  const word = text.toLowerCase();
  if (['on', 'true', '1'].includes(word)) return true;
  return ['off', 'false', '0'].includes(word) ? false : undefined;
}

function parseNetworks(text: string): Network[] | undefined {
  const networks = text.split(',').map((part) => parseNetwork(part.trim()));
  return networks.includes(undefined) ? undefined : (networks as Network[]);
}
