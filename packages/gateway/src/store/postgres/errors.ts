// What the driver and the server throw, as what the store promises: passing, a constraint, or a fault of ours.
// Codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
import { DatabaseError } from 'pg';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import { ConstraintViolated } from '../schema/database.ts';

/** Statements that cannot be understood or values that do not fit: the same again would fail again. */
const faultClasses = ['0A', '21', '22', '26', '42', '54'];
const insufficientPrivilege = '42501';

/** Rolled back for certain, and likely to work now: a conflict with another transaction, or a plan that a migration outdated. */
const worthRepeating = new Set(['40001', '40P01', '26000']);
const featureNotSupported = '0A000';
/** Only a pooler that gives one session to several clients lets names of prepared statements collide. */
const duplicatePreparedStatement = '42P05';

export function toStoreError(error: unknown): Error {
  if (error instanceof StoreUnavailable) return error;
  if (!(error instanceof DatabaseError)) {
    // The driver takes values as they come; what it cannot encode is ours. All else is the connection.
    return error instanceof TypeError ? error : new StoreUnavailable(messageOf(error), { cause: error });
  }
  const { code = '' } = error;
  if (code === duplicatePreparedStatement) {
    return new StoreUnavailable(`${error.message}; a pooler such as PgBouncer has to run with pool_mode = session`, {
      cause: error,
    });
  }
  if (code.startsWith('23')) return new ConstraintViolated(error.message, { cause: error });
  const isFault = faultClasses.some((prefix) => code.startsWith(prefix)) && code !== insufficientPrivilege;
  return isFault ? new Error(error.message, { cause: error }) : new StoreUnavailable(error.message, { cause: error });
}

export function isWorthRepeating(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  // "cached plan must not change result type": the statement has to be prepared again, on another connection.
  const isOutdatedPlan = error.code === featureNotSupported && error.routine === 'RevalidateCachedQuery';
  return isOutdatedPlan || worthRepeating.has(error.code ?? '');
}

/** A host with several addresses gives one error for all of them, without a text of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
