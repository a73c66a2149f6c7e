// The environment → Config, or every problem at once. Each secret can also be read from the file its _FILE twin names.
import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { limits } from '@tocsin/contract';
import {
  type EmailConfig,
  type MqttConfig,
  type PushConfig,
  parseInteger,
  type Reader,
  readEmailConfig,
  readMqttConfig,
  readPushConfig,
} from './channel-config.ts';
import { parseNetwork } from './core/address-policy.ts';
import { isImportable } from './core/key-format.ts';
import { parseMasterKey } from './core/master-key-format.ts';
import { Problem } from './core/problem.ts';
import { parseRate, type Rate } from './core/rate.ts';

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

type Network = NonNullable<ReturnType<typeof parseNetwork>>;

export interface Config {
  host: string;
  port: number;
  consolePort: number;
  dataDir: string;
  masterKey: KeyObject | null;
  firstRun: boolean;
  firstKey: string | null;
  maxBodyBytes: number;
  rateLimit: Rate | null;
  trustedProxies: Network[];
  customBrokerAllow: Network[];
  mqtt: MqttConfig;
  /** null: no mail server is configured. */
  email: EmailConfig | null;
  push: PushConfig;
  /** 0: notifications are kept for ever. */
  retentionDays: number;
  logLevel: LogLevel;
  /** Set, and begin with TOCSIN_, but mean nothing here: most likely misspelt. */
  unknownVariables: string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

export function readConfig(environment: Environment): Config {
  const problems: string[] = [];
  const asked = new Set<string>();

  /** The value of a variable as `parse` understands it; undefined from `parse` is a problem. */
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
      if (value === undefined) problems.push(`The file that ${name}_FILE names must hold ${wanted}.`);
      return value ?? null;
    } catch (error) {
      problems.push(`${name}_FILE: ${(error as Error).message}.`);
      return null;
    }
  }

  const reader: Reader = { value: read, secret: readSecret, problem: (text) => problems.push(text) };

  const config: Omit<Config, 'unknownVariables'> = {
    host: read('TOCSIN_HOST', '127.0.0.1', 'a host name or address', (text) => text),
    port: read('TOCSIN_PORT', 8080, 'a port from 0 to 65535', parsePort),
    consolePort: read('TOCSIN_CONSOLE_PORT', 8081, 'a port from 0 to 65535', parsePort),
    dataDir: resolve(read('TOCSIN_DATA_DIR', './data', 'a folder', (text) => text)),
    masterKey: readSecret('TOCSIN_MASTER_KEY', '32 bytes as base64 or hex (openssl rand -base64 32)', parseMasterKey),
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
    trustedProxies: read('TOCSIN_TRUSTED_PROXIES', [], 'addresses or networks, separated by commas', parseNetworks),
    customBrokerAllow: read(
      'TOCSIN_MQTT_CUSTOM_ALLOW',
      [],
      'addresses or networks, separated by commas',
      parseNetworks,
    ),
    mqtt: readMqttConfig(reader),
    email: readEmailConfig(reader),
    push: readPushConfig(reader),
    retentionDays: read('TOCSIN_RETENTION_DAYS', 90, 'a number of days from 0 (for ever) to 36500', (text) =>
      parseInteger(text, 0, 36_500),
    ),
    logLevel: read<LogLevel>('TOCSIN_LOG_LEVEL', 'info', `one of ${logLevels.join(', ')}`, (text) =>
      logLevels.find((level) => level === text),
    ),
  };

  if (problems.length > 0)
    throw new Problem(`The configuration has problems:\n${problems.map((text) => `- ${text}`).join('\n')}`);
  const unknownVariables = Object.keys(environment).filter((name) => name.startsWith('TOCSIN_') && !asked.has(name));
  return { ...config, unknownVariables };
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
