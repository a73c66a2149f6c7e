// Structured lines on stderr. Every line is built here from named fields: nothing a caller sent, and no secret, can get
// into one by accident.
import pino from 'pino';
import type { BrokerEvent } from './channels/mqtt/embedded/events.ts';
import type { LogLevel } from './config.ts';
import type { RequestLog } from './http/app.ts';
import { LogSink } from './log-sink.ts';

export interface Log extends RequestLog {
  started(urls: Record<string, string>): void;
  stopped(): void;
  storeFailed(reason: string, error: Error): void;
  brokerState(state: 'connected' | 'disconnected', error?: string): void;
  brokerEvent(event: BrokerEvent): void;
  purged(count: number): void;
  purgeFailed(error: unknown): void;
  unknownVariables(names: string[]): void;
  /** Waits a moment for what is not written yet. */
  flush(): Promise<void>;
}

/** For people the lines are short text; for machines they are JSON. */
export function createLog(level: LogLevel, isForPeople = false): Log {
  const sink = new LogSink();
  const destination = isForPeople ? asText(sink) : sink;
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  return {
    answered: ({ requestId, method, status, code, ms }) => {
      const level = status >= 500 ? 'warn' : status >= 400 ? 'info' : 'debug';
      if (logger.isLevelEnabled(level))
        logger[level]({ requestId, method, status, code, ms: Math.round(ms * 10) / 10 }, 'answered');
    },
    failed: ({ requestId, error }) => logger.error({ requestId, stack: stackOf(error) }, 'internal error'),
    // People are welcomed on stdout.
    started: (urls) => isForPeople || logger.info(urls, 'ready'),
    stopped: () => logger.info('stopped'),
    storeFailed: (reason, error) => logger.warn({ reason, cause: error.message }, 'notification not stored'),
    brokerState: (state, error) => {
      if (state === 'connected') logger.info('connected to the MQTT broker');
      else logger.warn({ cause: error }, 'no connection to the MQTT broker');
    },
    brokerEvent: (event) => {
      if (event.kind === 'failed') logger.error({ stack: stackOf(event.error) }, 'the embedded broker failed');
      else if (event.kind === 'sign_in_refused' || event.kind === 'dropped') {
        logger.info({ event: event.kind, reason: event.reason, address: event.address }, 'MQTT');
      } else logger.debug({ event: event.kind, deviceId: event.deviceId }, 'MQTT');
    },
    purged: (count) => logger.info({ count }, 'old notifications deleted'),
    purgeFailed: (error) => logger.error({ stack: stackOf(error) }, 'deleting old notifications failed'),
    unknownVariables: (names) => logger.warn({ names }, 'variables that are not known to this version, so misspelt?'),
    flush: () => sink.flush(500),
  };
}

function asText(sink: LogSink) {
  return {
    write(line: string): void {
      const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
      const rest = Object.entries(fields).map(
        ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
      );
      const label = pino.levels.labels[level as number] ?? '';
      sink.write(`${[String(time).slice(11, 19), label, msg, ...rest].join(' ')}\n`);
    },
  };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
