// Structured lines on stderr. Every line is built here from named fields: nothing a caller sent, and no secret, can get
// into one by accident.
import pino from 'pino';
import type { LogLevel } from './config.ts';
import type { RequestLog } from './http/app.ts';

export interface Log extends RequestLog {
  started(urls: Record<string, string>): void;
  stopped(): void;
  storeFailed(reason: string, error: Error): void;
  purged(count: number): void;
  purgeFailed(error: unknown): void;
  unknownVariables(names: string[]): void;
  flush(): void;
}

export function createLog(level: LogLevel): Log {
  const destination = pino.destination({ dest: 2, sync: false });
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  return {
    answered: ({ requestId, method, status, code, ms }) => {
      const level = status >= 500 ? 'warn' : status >= 400 ? 'info' : 'debug';
      if (logger.isLevelEnabled(level))
        logger[level]({ requestId, method, status, code, ms: Math.round(ms * 10) / 10 }, 'answered');
    },
    failed: ({ requestId, error }) => logger.error({ requestId, stack: stackOf(error) }, 'internal error'),
    started: (urls) => logger.info(urls, 'ready'),
    stopped: () => logger.info('stopped'),
    storeFailed: (reason, error) => logger.warn({ reason, cause: error.message }, 'notification not stored'),
    purged: (count) => logger.info({ count }, 'old notifications deleted'),
    purgeFailed: (error) => logger.error({ stack: stackOf(error) }, 'deleting old notifications failed'),
    unknownVariables: (names) => logger.warn({ names }, 'these variables mean nothing to this version; misspelt?'),
    flush: () => destination.flushSync(),
  };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
