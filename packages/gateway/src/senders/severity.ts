// Words for severities that senders use, besides those of the contract.
import { type JsonValue, type Severity, severities, severitySynonyms } from '@tocsin/contract';
import { textOf } from './event.ts';

const words: Readonly<Record<string, Severity>> = {
  ...severitySynonyms,
  p1: 'critical',
  disaster: 'critical',
  severe: 'critical',
  urgent: 'critical',
  high: 'error',
  major: 'error',
  down: 'error',
  firing: 'error',
  alerting: 'error',
  danger: 'error',
  offline: 'error',
  broken: 'error',
  timed_out: 'error',
  p2: 'warning',
  p3: 'warning',
  medium: 'warning',
  moderate: 'warning',
  minor: 'warning',
  average: 'warning',
  degraded: 'warning',
  unstable: 'warning',
  pending: 'warning',
  p4: 'info',
  p5: 'info',
  low: 'info',
  recovered: 'info',
  recovery: 'info',
  cleared: 'info',
  clear: 'info',
  up: 'info',
  online: 'info',
  normal: 'info',
  good: 'info',
  passed: 'info',
  healthy: 'info',
  succeeded: 'info',
  completed: 'info',
  fixed: 'info',
};

/** undefined for a word that says nothing about severity. */
export function severityOf(value: JsonValue | undefined): Severity | undefined {
  const word = textOf(value)?.toLowerCase();
  if (word === undefined) return undefined;
  return severities.find((name) => name === word) ?? (Object.hasOwn(words, word) ? words[word] : undefined);
}

/** null: there is none. */
export function worstSeverity(found: readonly (Severity | null)[]): Severity | null {
  return severities.findLast((severity) => found.includes(severity)) ?? null;
}

/** The severity of an event type such as `backup.failed`; null for types that say nothing about it. */
export function severityOfType(type: string): Severity | null {
  return /(^|[._-])(failed|failure|error)$/i.test(type) ? 'error' : null;
}
