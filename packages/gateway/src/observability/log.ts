// Structured log on stderr. Every line is built here from named fields, so neither the content of requests nor a secret can
// get into one by accident.
import pino from 'pino';
import type { BrokerEvent } from '../channels/mqtt/embedded/events.ts';
import { channels } from '../channels/registry.ts';
import type { LogLevel } from '../config/server.ts';
import { breakersOf, type OnBreakerState } from '../core/channel.ts';
import { printable, printableJson, printableLines } from '../core/printable.ts';
import type { RequestLog } from '../http/app.ts';
import type { OnDisconnected } from '../http/connection-guard.ts';
import type { OnRefused } from '../http/server.ts';
import type { WorkerPoolLog } from '../process/workers/worker-pool.ts';
import { type Delivery, StoreUnavailable } from '../usecases/ports/index.ts';
import { LogSink } from './log-sink.ts';
import { RepeatedLines } from './repeated-lines.ts';

export interface Log extends RequestLog, WorkerPoolLog {
  readonly isForPeople: boolean;
  started(urls: Record<string, string>): void;
  stopped(): void;
  refused: OnRefused;
  quotaNotCounted(error: unknown): void;
  descriptorsExhausted(): void;
  disconnected: OnDisconnected;
  /** null: traces are exported again. */
  tracesState(reason: string | null): void;
  storeFailed(failure: { requestId: string; reason: string; error: Error }): void;
  limitsShared(isShared: boolean, cause?: string): void;
  brokerState(state: 'connected' | 'disconnected', error?: string): void;
  brokerEvent(event: BrokerEvent): void;
  guardState: OnBreakerState;
  masterKeyMissing(message: string): void;
  dataDirectoryNotLocked(dataDir: string): void;
  brokerShared(isShared: boolean): void;
  schemaIsNewer(message: string): void;
  storeDamaged(problems: readonly string[]): void;
  walDamaged(damage: { frames: number; lostFrames: number; lostCommits: number }): void;
  upkeepFailed(error: unknown): void;
  diskFull(): void;
  rowRefused(message: string): void;
  redeliveryFailed(error: unknown): void;
  presetFailed(preset: string, error: unknown): void;
  deliveryDead(delivery: Delivery): void;
  certificateLoaded(certificate: { names: string; validTo: Date }): void;
  certificateKept(problem: string): void;
  stopLate(part: string): void;
  stopFailed(part: string, error: unknown): void;
  purged(count: number): void;
  /** null: the clock is trusted again. */
  clockDoubted(doubt: string | null): void;
  purgeFailed(error: unknown): void;
  accountEmailFailed(cause: string): void;
  oidcFailed(cause: string): void;
  legacyWarning(warning: string): void;
  unknownHost(name: string): void;
  unknownVariables(names: string[]): void;
  /** Waits up to 500 ms for pending lines. */
  flush(): Promise<void>;
}

const storeLineIntervalMs = 30_000;
/** Limit for refused sign-ins, and for dropped connections, with the same reason. */
const brokerLinesPerMinute = 10;

/** Names for people of all circuit breakers. */
const breakerNames = new Map(channels.flatMap((channel) => Object.entries(breakersOf(channel))));

/** Writes short text if `isForPeople`, otherwise JSON. Lines of a worker carry its number. */
export function createLog(level: LogLevel, isForPeople = false, worker: number | null = null): Log {
  const sink = new LogSink();
  const destination = isForPeople ? asText(sink) : asJson(sink);
  const logger = pino(
    { level, base: worker === null ? null : { worker }, timestamp: pino.stdTimeFunctions.isoTime },
    destination,
  );
  const failing = new Set<string>();
  const repeated = new RepeatedLines({ lines: 1, isPerMinute: false });
  const repeatedByBroker = new RepeatedLines({ lines: brokerLinesPerMinute, isPerMinute: true });
  const refusedAgain =
    (level: 'warn' | 'info' | 'debug', status: number, code: string | undefined) =>
    (count: number, address: string): void =>
      logger[level]({ address, status, code, count }, 'refused more');
  let storeLostAt = Number.NEGATIVE_INFINITY;
  const isBrokerLineDue = (event: string): boolean =>
    repeatedByBroker.isDue(event, '', (count) =>
      logger.info({ event, count }, 'MQTT: more of the same within a minute'),
    );
  return {
    isForPeople,
    answered: ({ requestId, method, status, code, ms, address = '' }) => {
      const level = status >= 500 ? 'warn' : status >= 400 ? 'info' : 'debug';
      if (!logger.isLevelEnabled(level)) return;
      const isLimited = status >= 400 && !logger.isLevelEnabled('debug');
      if (isLimited && !repeated.isDue(`answered ${status} ${code}`, address, refusedAgain(level, status, code)))
        return;
      logger[level](
        { ...(address !== '' && { address }), requestId, method, status, code, ms: Math.round(ms * 10) / 10 },
        'answered',
      );
    },
    refused: ({ requestId, status, code, address = '' }) => {
      const isLogged =
        logger.isLevelEnabled('debug') ||
        repeated.isDue(`refused ${status} ${code}`, address, refusedAgain('info', status, code));
      if (isLogged) logger.info({ address, requestId, status, code }, 'refused');
    },
    disconnected: ({ reason, address }) => {
      const again = (count: number, address: string): void =>
        logger.info({ reason, address, count }, 'disconnected more');
      if (repeated.isDue(`disconnected ${reason}`, address, again)) logger.info({ reason, address }, 'disconnected');
    },
    quotaNotCounted: (error) => {
      const cause = (error as Error).message;
      const again = (count: number): void =>
        logger.warn({ cause, count }, `quotas fell back to per-process counting ${timesMore(count)}`);
      if (repeated.isDue('quota', '', again)) logger.warn({ cause }, 'quotas fell back to per-process counting');
    },
    descriptorsExhausted: () => {
      const message = 'too many open files: new connections are closed; raise the limit (ulimit -n, LimitNOFILE)';
      const again = (count: number): void => logger.error({ count }, message);
      if (repeated.isDue('descriptors', '', again)) logger.error(message);
    },
    failed: ({ requestId, error }) => {
      const stack = stackOf(error);
      const again = (count: number): void =>
        logger.error({ stack, count }, `internal error occurred ${timesMore(count)}`);
      if (repeated.isDue(`failed ${stack}`, '', again)) logger.error({ requestId, stack }, 'internal error');
    },
    // On a terminal the welcome text on stdout replaces this line.
    started: (urls) => isForPeople || logger.info(urls, 'ready'),
    stopped: () => {
      repeatedByBroker.flush();
      logger.info('stopped');
    },
    storeFailed: ({ requestId, reason, error: { message: cause } }) => {
      const again = (count: number): void => logger.warn({ reason, cause, count }, 'notifications not stored');
      if (repeated.isDue(`store ${reason} ${cause}`, '', again))
        logger.warn({ requestId, reason, cause }, 'notification not stored');
    },
    limitsShared: (isShared, cause) => {
      if (isShared) logger.info('rate limits are shared again');
      else logger.warn({ cause }, 'rate limits fell back to per-process counting');
    },
    workerStarted: (worker, pid) => logger.info({ worker, pid }, 'worker listening'),
    workerEnded: (worker, { code, signal, problem }) =>
      logger.warn({ worker, code, signal, cause: problem }, 'worker exited'),
    workerHung: (worker) => logger.error({ worker }, 'worker does not respond and is killed'),
    brokerState: (state, error) => {
      if (state === 'connected') logger.info('connected to the MQTT broker');
      else logger.warn({ cause: error }, 'no connection to the MQTT broker');
    },
    brokerEvent: (event) => {
      if (event.kind === 'failed') logger.error({ stack: stackOf(event.error) }, 'the embedded broker failed');
      else if (event.kind === 'queue_full') {
        const { deviceId, clientId } = event;
        logger.warn({ deviceId, clientId }, 'the MQTT queue of a device is full (TOCSIN_MQTT_QUEUE_LIMIT)');
      } else if (event.kind === 'messages_dropped') {
        logger.debug({ event: event.kind, reason: event.reason, count: event.count }, 'MQTT');
      } else if (event.kind === 'sign_in_refused' || event.kind === 'dropped') {
        if (!isBrokerLineDue(`${event.kind}: ${event.reason}`)) return;
        logger.info({ event: event.kind, reason: event.reason, address: event.address }, 'MQTT');
      } else if (event.kind === 'publish_ignored') {
        if (!isBrokerLineDue(event.kind)) return;
        logger.info(
          { event: event.kind, deviceId: event.deviceId },
          'MQTT client publishes: ignored, devices only receive',
        );
      } else logger.debug({ event: event.kind, deviceId: event.deviceId }, 'MQTT');
    },
    guardState: (guard, state, cause) => {
      // Half open is not logged: it occurs with every probe of a provider that is down.
      if (state === 'open' && !failing.has(guard)) {
        failing.add(guard);
        logger.warn(
          { channel: guard, cause },
          `${breakerNames.get(guard)} channel down; deliveries are queued for retry`,
        );
      } else if (state === 'closed' && failing.delete(guard)) {
        logger.info({ channel: guard }, `${breakerNames.get(guard)} channel recovered`);
      }
    },
    tracesState: (reason) => {
      if (reason === null) logger.info('traces are exported again');
      else logger.warn({ cause: reason }, 'traces cannot be exported and are dropped');
    },
    brokerShared: (isShared) => {
      if (isShared) {
        logger.error(
          'MQTT: another node on this database also runs an embedded broker: devices miss notifications that the other node accepts. ' +
            'Set TOCSIN_MQTT_URL to a broker that all nodes share, or stop the other node',
        );
      } else logger.info('MQTT: no other node on this database runs an embedded broker any longer');
    },
    diskFull: () =>
      logger.error('the disk is full: notifications are delivered but not stored until there is space again'),
    dataDirectoryNotLocked: (dataDir) =>
      logger.warn({ dataDir }, 'the data directory could not be locked: make sure that no other server uses it'),
    masterKeyMissing: (message) => logger.error({ cause: message }, 'a master key is missing'),
    schemaIsNewer: (message) => logger.warn({ cause: message }, 'the database is of a newer version'),
    storeDamaged: (problems) =>
      logger.error(
        { count: problems.length, problems: problems.slice(0, 3) },
        "the database is damaged: run 'tocsin doctor --deep', and restore a backup",
      ),
    walDamaged: ({ frames, lostFrames, lostCommits }) =>
      logger.error(
        { frames, lostFrames, lostCommits },
        'the write-ahead log is damaged, or was truncated by a power failure: SQLite dropped its last commits',
      ),
    upkeepFailed: (error) => logger.warn({ cause: String((error as Error).message) }, 'upkeep of the database failed'),
    rowRefused: (message) => logger.error({ cause: message }, 'a row of the database was refused'),
    presetFailed: (preset, error) =>
      logger.error({ preset, stack: stackOf(error) }, 'a preset failed; the event was stored as text'),
    redeliveryFailed: (error) => {
      if (!(error instanceof StoreUnavailable)) logger.error({ stack: stackOf(error) }, 'redelivery failed');
      else if (performance.now() - storeLostAt >= storeLineIntervalMs) {
        // The store is polled once a second, and every request logs the failure as well.
        storeLostAt = performance.now();
        logger.warn({ cause: error.message }, 'redelivery waits for the store');
      }
    },
    deliveryDead: ({ notificationId, channel, target, attempts, error }) =>
      logger.warn(
        { notificationId, channel, target, attempts, cause: error },
        'delivery dead: retries exhausted or rejected',
      ),
    certificateLoaded: ({ names, validTo }) => {
      const isExpired = validTo.getTime() <= Date.now();
      const fields = { names, expires: validTo.toISOString() };
      if (isExpired) logger.warn(fields, 'the TLS certificate has expired');
      else logger.info(fields, 'TLS certificate loaded');
    },
    certificateKept: (problem) =>
      logger.warn({ cause: problem }, 'TLS certificate not reloaded; the old one stays in use'),
    stopLate: (part) => logger.warn({ part }, 'shutdown timed out'),
    stopFailed: (part, error) => logger.error({ part, stack: stackOf(error) }, 'shutdown failed'),
    purged: (count) => logger.info({ count }, 'old notifications deleted'),
    clockDoubted: (doubt) => {
      if (doubt === null) logger.info('the clock is stable; expired data is deleted again');
      else logger.warn({ cause: doubt }, 'the clock jumped; nothing is deleted by age');
    },
    purgeFailed: (error) => logger.error({ stack: stackOf(error) }, 'deleting old notifications failed'),
    accountEmailFailed: (cause) => logger.warn({ cause }, 'a sign-in or security email could not be sent'),
    oidcFailed: (cause) => logger.warn({ cause }, 'signing in with the OpenID provider failed'),
    legacyWarning: (warning) => logger.warn(warning),
    unknownHost: (name) =>
      logger.warn(
        { name },
        'the console got a request with a host name that a new installation would refuse: add it to TOCSIN_CONSOLE_HOSTS',
      ),
    unknownVariables: (names) => logger.warn({ names }, 'unknown TOCSIN_ variables'),
    flush: () => {
      repeated.flush();
      return sink.flush(500);
    },
  };
}

function asText(sink: LogSink) {
  return {
    write(line: string): void {
      const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
      const rest = Object.entries(fields).map(
        // Only a stack may contain line breaks.
        ([name, value]) =>
          `${name}=${name === 'stack' ? value : printable(typeof value === 'string' ? value : JSON.stringify(value))}`,
      );
      const label = pino.levels.labels[level as number] ?? '';
      const text = [String(time).slice(11, 19), label, printable(String(msg ?? '')), ...rest].join(' ');
      sink.write(`${printableLines(text)}\n`);
    },
  };
}

function asJson(sink: LogSink) {
  return { write: (line: string): void => sink.write(printableJson(line)) };
}

function timesMore(count: number): string {
  return `${count} more ${count === 1 ? 'time' : 'times'}`;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
