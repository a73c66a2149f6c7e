// The broker of the operator: one connection that is kept, and opened again when it breaks.
import type { IClientOptions } from 'mqtt';
import { knownAuthoritiesAnd } from '../../egress/certificate-authorities.ts';
import { type MqttConnection, type MqttVersion, newClientId, openConnection } from './client-connection.ts';
import { allVersions, openWithVersion } from './client-version.ts';
import type { PlatformBrokerConfig } from './config.ts';
import { type ConnectionProblem, endOf, outcomeOf, problemOf, unreachable, withoutAdvice } from './outcome.ts';
import type { MqttPublisher } from './publisher.ts';

export type ConnectionState = 'connected' | 'disconnected';

export interface PlatformBrokerOptions {
  now(): number;
  /** The error is what is wrong and what to do, without secrets. Called for changes only, not for every attempt. */
  onStateChange?(state: ConnectionState, error?: string): void;
  backoff?: { leastMs: number; mostMs: number };
  connectTimeoutMs?: number;
  keepaliveSeconds?: number;
  versions?: readonly MqttVersion[];
}

const defaultPorts: Record<string, number> = { 'mqtt:': 1883, 'mqtts:': 8883, 'ws:': 80, 'wss:': 443 };

/** A connection that lasted this long was stable: the next attempt comes soon. */
const stableMs = 10_000;
/** Shorter than the deadline of a readiness probe. */
const pingMs = 1500;
/** As mqtt.js says it itself when the keep-alive is not answered. */
const silence = new Error('Keepalive timeout');

export function createPlatformBroker(config: PlatformBrokerConfig, options: PlatformBrokerOptions): MqttPublisher {
  const { now, onStateChange, versions = allVersions, connectTimeoutMs = 5000, keepaliveSeconds = 10 } = options;
  const { leastMs, mostMs } = options.backoff ?? { leastMs: 1000, mostMs: 30_000 };
  const stop = new AbortController();
  let connection: MqttConnection | null = null;
  let problem: ConnectionProblem = problemOf(undefined);
  let reported: string | undefined;
  let failures = 0;
  const onConnected: (() => void)[] = [];

  const report = (state: ConnectionState, error?: string): void => {
    if (reported === state + error) return;
    reported = state + error;
    onStateChange?.(state, error);
    if (state === 'connected') for (const listener of onConnected) listener();
  };

  const tryOnce = async (): Promise<void> => {
    try {
      connection = await openWithVersion(versions, (version) =>
        openConnection({
          client: { ...clientOptionsOf(config), connectTimeout: connectTimeoutMs, keepalive: keepaliveSeconds },
          version,
          now,
          signal: stop.signal,
        }),
      );
    } catch (error) {
      problem = problemOf(error);
      failures++;
    }
  };

  const keepConnected = async (firstTry: Promise<void>): Promise<void> => {
    await firstTry;
    while (!stop.signal.aborted) {
      if (connection !== null) {
        const since = performance.now();
        report('connected');
        problem = endOf(connection, await connection.closed);
        connection = null;
        failures = performance.now() - since > stableMs ? 1 : failures + 1;
        if (stop.signal.aborted) return;
      }
      report('disconnected', describe(config, problem));
      await pause(backoffMs(failures, leastMs, mostMs), stop.signal);
      if (!stop.signal.aborted) await tryOnce();
    }
    await connection?.close();
  };

  const firstTry = tryOnce();
  const over = keepConnected(firstTry);

  return {
    async publish(message, signal) {
      if (connection === null) return unreachable(`The MQTT broker ${withoutAdvice(problem)}`);
      return outcomeOf(await connection.publish(message, signal));
    },
    onConnected(listener) {
      onConnected.push(listener);
    },
    async check() {
      await firstTry;
      const asked = connection;
      if (asked === null) return describe(config, problem);
      const how = await asked.ping(pingMs);
      if (how === 'answered') return null;
      return describe(config, how === 'closed' ? endOf(asked, await asked.closed) : problemOf(silence));
    },
    async close() {
      stop.abort();
      await Promise.all([connection?.close(), over]);
    },
  };
}

export function describe({ url }: PlatformBrokerConfig, problem: ConnectionProblem): string {
  return `The MQTT broker at ${url.hostname}:${portOf(url)} ${withoutAdvice(problem)}. ${problem.advice}`;
}

function portOf(url: URL): number {
  return url.port === '' ? (defaultPorts[url.protocol] as number) : Number(url.port);
}

/** Doubles from try to try. Half of it is chance, so that many gateways do not come back at the same moment. */
function backoffMs(failures: number, leastMs: number, mostMs: number): number {
  const longest = Math.min(mostMs, leastMs * 2 ** Math.min(failures - 1, 20));
  return longest / 2 + Math.random() * (longest / 2);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
}

/** A new object for every connection, since mqtt.js writes into it; never an address as text, since it parses those otherwise. */
export function clientOptionsOf({ url, username, password, ca }: PlatformBrokerConfig): IClientOptions {
  const protocol = url.protocol.slice(0, -1) as 'mqtt' | 'mqtts' | 'ws' | 'wss';
  const isWebSocket = protocol === 'ws' || protocol === 'wss';
  const user = username ?? decode(url.username);
  const secret = password ?? decode(url.password);
  return {
    protocol,
    // Node's sockets take an IPv6 address without brackets; a WebSocket address needs them.
    hostname: isWebSocket ? url.hostname : url.hostname.replace(/^\[|\]$/g, ''),
    port: portOf(url),
    clientId: newClientId(),
    ...(isWebSocket && { path: url.pathname + url.search, wsOptions: { perMessageDeflate: false } }),
    ...(user !== '' && { username: user }),
    ...(secret !== '' && { password: secret }),
    ...(ca !== null && { ca: knownAuthoritiesAnd(ca) }),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
