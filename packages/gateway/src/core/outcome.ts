// How an attempt to reach one target ended.

export type Outcome = Sent | Queued | NotSent;
export type NotSent = Retry | Gone | Rejected;

export interface Sent {
  kind: 'sent';
}

/** The message waits at the provider for a device that has never connected. Nothing is left to do here. */
export interface Queued {
  kind: 'queued';
}

/** Another attempt may succeed. */
export interface Retry {
  kind: 'retry';
  reason: RetryReason;
  /** For the caller and the log: what happened, without secrets and without text that the provider sent. */
  error: string;
  /** The delay that the provider asked for. */
  retryAfterMs?: number;
}

/**
 * - `unreachable`: the provider cannot be reached, so sends to its other targets fail too.
 * - `circuit_open`: not attempted, because the provider is known to be unreachable.
 * - `not_attempted`: not attempted for another reason: no free capacity, or earlier messages come first.
 * - `target_full`: this target accepts nothing at the moment, so its later messages wait too.
 * - `deferred`: only this message is delayed. Nothing follows for other messages.
 */
export type RetryReason = 'unreachable' | 'circuit_open' | 'not_attempted' | 'target_full' | 'deferred';

/**
 * The target no longer exists at the provider: all its waiting deliveries become dead. Not for credentials of the operator
 * that the provider does not accept, which are a `retry`.
 */
export interface Gone {
  kind: 'gone';
  error: string;
}

/** This message is not accepted, now or later. */
export interface Rejected {
  kind: 'rejected';
  reason: RejectionReason;
  error: string;
}

/**
 * - `refused`: the provider refused the message.
 * - `invalid_target`: not attempted, because no provider could accept the stored address or token.
 * - `not_configured`: not attempted, because the operator has not configured a provider.
 * - `not_retried`: failed temporarily, but the notification is not stored, so it cannot be retried.
 */
export type RejectionReason = 'refused' | 'invalid_target' | 'not_configured' | 'not_retried';

/** The form in which outcomes are stored and counted. */
export type OutcomeKind = Exclude<Outcome['kind'], 'queued'>;
export const outcomeKinds: readonly OutcomeKind[] = ['sent', 'retry', 'gone', 'rejected'];

export function kindOf({ kind }: Outcome): OutcomeKind {
  return kind === 'queued' ? 'sent' : kind;
}

/** The provider has the message. */
export function isAccepted(outcome: Outcome): outcome is Sent | Queued {
  return outcome.kind === 'sent' || outcome.kind === 'queued';
}

/** The provider received a request for this target. */
export function wasAttempted(outcome: Outcome): boolean {
  if (outcome.kind === 'retry') return outcome.reason !== 'circuit_open' && outcome.reason !== 'not_attempted';
  return outcome.kind !== 'rejected' || outcome.reason === 'refused';
}

export function isUnreachable(outcome: Outcome): outcome is Retry {
  return outcome.kind === 'retry' && (outcome.reason === 'unreachable' || outcome.reason === 'circuit_open');
}

/** Later messages to the target wait until this one is delivered. A message that was deferred holds up no other. */
export function holdsQueue(outcome: Outcome): outcome is Retry {
  return outcome.kind === 'retry' && outcome.reason !== 'deferred';
}

export function retry(reason: RetryReason, error: string, retryAfterMs?: number): Retry {
  return { kind: 'retry', reason, error, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

export function rejected(reason: RejectionReason, error: string): Rejected {
  return { kind: 'rejected', reason, error };
}
