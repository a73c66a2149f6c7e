// Converts errors of driver and server to those of the store: StoreUnavailable, ConstraintViolated, or a bug.
// Codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
import { DatabaseError } from 'pg';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import { ConstraintViolated } from '../schema/database.ts';

/** Invalid statements or values: a retry would fail again. */
const faultClasses = ['0A', '21', '22', '26', '42', '54'];
const insufficientPrivilege = '42501';

/** Rolled back, and likely to succeed at a retry: a serialization failure, a deadlock, or an outdated prepared statement. */
const worthRepeating = new Set(['40001', '40P01', '26000']);
const featureNotSupported = '0A000';
/** Names of prepared statements collide only behind a pooler that shares a session between clients. */
const duplicatePreparedStatement = '42P05';

export function toStoreError(error: unknown): Error {
  if (error instanceof StoreUnavailable) return error;
  if (!(error instanceof DatabaseError)) {
    // A value that the driver cannot encode is a bug. All other errors are those of the connection.
    return error instanceof TypeError ? error : new StoreUnavailable(messageOf(error), { cause: error });
  }
  const { code = '' } = error;
  if (code === duplicatePreparedStatement) {
    return new StoreUnavailable(`${error.message}; a pooler such as PgBouncer must run with pool_mode = session`, {
      cause: error,
    });
  }
  if (code.startsWith('23')) return new ConstraintViolated(error.message, { cause: error });
  const isFault = faultClasses.some((prefix) => code.startsWith(prefix)) && code !== insufficientPrivilege;
  return isFault ? new Error(error.message, { cause: error }) : new StoreUnavailable(error.message, { cause: error });
}

export function isWorthRepeating(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  // "cached plan must not change result type": the statement must be prepared again, on another connection.
  const isOutdatedPlan = error.code === featureNotSupported && error.routine === 'RevalidateCachedQuery';
  return isOutdatedPlan || worthRepeating.has(error.code ?? '');
}

/** A host with several addresses results in an AggregateError without a message. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
