// What the console found wrong with a form, field by field.
import { text } from '../text/index.ts';
import { ApiError } from './client.ts';

/** Of the field itself or of something in it; null: nothing. */
export function problemOf(error: unknown, field: string): string | null {
  if (!(error instanceof ApiError)) return null;
  const found = error.details.find(({ field: name }) => isIn(name, field));
  return found === undefined ? null : text.common.fieldProblem(found.problem);
}

/** What belongs to none of these fields, and so to the whole form; null: nothing. */
export function problemBeside(error: unknown, fields: readonly string[]): string | null {
  if (error === null) return null;
  if (!(error instanceof ApiError)) return text.common.failed;
  const isShown = error.details.some(({ field: name }) => fields.some((field) => isIn(name, field)));
  return isShown ? null : error.message;
}

function isIn(name: string, field: string): boolean {
  return name === field || name.startsWith(`${field}[`) || name.startsWith(`${field}.`);
}
