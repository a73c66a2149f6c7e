// Maps the error details of the console to the fields of a form.
import { text } from '../text/index.ts';
import { ApiError } from './client.ts';

/** The error of a field or of a value within it; null if there is none. */
export function fieldProblem(error: unknown, field: string): string | null {
  if (!(error instanceof ApiError)) return null;
  const found = error.details.find(({ field: name }) => isIn(name, field));
  return found === undefined ? null : text.common.fieldProblem(found.problem);
}

/** The error of the whole form: one that belongs to none of these fields; null if there is none. */
export function formProblem(error: unknown, fields: readonly string[]): string | null {
  if (error === null) return null;
  if (!(error instanceof ApiError)) return text.common.failed;
  const isShown = error.details.some(({ field: name }) => fields.some((field) => isIn(name, field)));
  return isShown ? null : error.message;
}

function isIn(name: string, field: string): boolean {
  return name === field || name.startsWith(`${field}[`) || name.startsWith(`${field}.`);
}
