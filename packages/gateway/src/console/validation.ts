// Validates requests against the schemas of the route table, and describes what is wrong with them.
import { keyFieldProblem, lineProblem } from '@tocsin/contract';
import type { FieldProblem } from '@tocsin/contract/console';
import type { CheckName, Schema } from '@tocsin/contract/console/schema';
import { Ajv, type AnySchemaObject, type ErrorObject, type SchemaValidateFunction, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { isOneAddress } from '../core/email-address.ts';
import { parseTimeZone } from '../core/quiet-hours.ts';

type Checks = Record<CheckName, (value: unknown) => string | null>;

/** Schemas are compiled when the first request needs them, which keeps them out of the start. */
export function createValidatorCompiler(now: () => number): FastifySchemaCompiler<Schema> {
  let ajvs: Record<'body' | 'query', Ajv> | undefined;
  const compile = (schema: Schema, httpPart: string | undefined): ValidateFunction => {
    ajvs ??= { body: createAjv(now, false), query: createAjv(now, true) };
    return ajvs[httpPart === 'querystring' ? 'query' : 'body'].compile(schema);
  };
  return ({ schema, httpPart }) => {
    let compiled: ValidateFunction | undefined;
    const validate = (value: unknown): boolean => {
      compiled ??= compile(schema, httpPart);
      const isValid = compiled(value) as boolean;
      Object.assign(validate, { errors: compiled.errors });
      return isValid;
    };
    return validate;
  };
}

/** Values of a query are text, so that numbers have to be converted; values of a body are taken as they are. */
function createAjv(now: () => number, coerceTypes: boolean): Ajv {
  const ajv = new Ajv({ allErrors: true, useDefaults: true, coerceTypes, allowUnionTypes: true });
  const checks = createChecks(now);
  ajv.addKeyword({ keyword: 'line', type: 'string', schemaType: 'number', modifying: true, validate: trimLine });
  ajv.addKeyword({
    keyword: 'check',
    schemaType: 'string',
    // Ajv runs this keyword before `line`.
    validate: withMessage((name: CheckName, value, schema) => (isBlank(value, schema) ? null : checks[name](value))),
  });
  return ajv;
}

const trimLine = withMessage((maxLength: number, value, schema, context) => {
  const line = isBlank(value, schema) ? null : String(value).trim();
  if (context !== undefined) context.parentData[context.parentDataProperty] = line;
  return line === null ? null : lineProblem(line, maxLength);
});

/** Blank text in a line that may be null means null. */
function isBlank(value: unknown, schema: AnySchemaObject = {}): boolean {
  const isNullable = schema.line !== undefined && [schema.type].flat().includes('null');
  return isNullable && typeof value === 'string' && value.trim() === '';
}

type Rule<Setting> = (
  setting: Setting,
  ...rest: Parameters<SchemaValidateFunction> extends [unknown, ...infer Rest] ? Rest : never
) => string | null;

/** A keyword of our own, whose rule returns the problem as text. */
function withMessage<Setting>(rule: Rule<Setting>): SchemaValidateFunction {
  const validate: SchemaValidateFunction = (setting: Setting, ...rest) => {
    const message = rule(setting, ...rest);
    validate.errors = message === null ? [] : [{ message }];
    return message === null;
  };
  return validate;
}

/** Values of another type, which their schema refuses already, pass. */
function createChecks(now: () => number): Checks {
  const ofText =
    (problem: (text: string) => string | null) =>
    (value: unknown): string | null =>
      typeof value === 'string' ? problem(value) : null;
  return {
    allowedDomain: ofText(keyFieldProblem.allowedDomain),
    rateLimit: ofText(keyFieldProblem.rateLimit),
    expiry: (value) => (Number.isInteger(value) ? keyFieldProblem.expiresAt(value as number, now()) : null),
    emailAddress: ofText((text) =>
      isOneAddress(text.trim()) ? null : 'must be one plain address, such as ann@example.com',
    ),
    timeZone: ofText((name) =>
      parseTimeZone(name) === undefined ? 'must be a time zone such as Europe/Berlin' : null,
    ),
    quietSpan: (value) => (typeof value === 'object' && value !== null ? quietSpanProblem(value) : null),
  };
}

function quietSpanProblem({ from, to }: { from?: unknown; to?: unknown }): string | null {
  if (!isTimeOfDay(from) || !isTimeOfDay(to)) return 'must have from and to as HH:MM, such as 22:00 and 07:00';
  return from === to ? 'must not end when it begins' : null;
}

function isTimeOfDay(text: unknown): boolean {
  return typeof text === 'string' && /^([01]\d|2[0-3]):[0-5]\d$/.test(text);
}

/** Limits the response to a request with a long list of wrong values. */
const maxProblems = 50;

/**
 * One problem for each field: the last, because Ajv checks the type before the more specific rules. A field that has a
 * problem of its own hides those of its members. `further` are problems that no schema can find.
 */
export function fieldProblems(
  errors: readonly Partial<ErrorObject>[],
  further: readonly FieldProblem[] = [],
): FieldProblem[] {
  const found = errors.map((error) => ({ field: fieldOf(error), problem: problemOf(error) }));
  const byField = new Map([...found, ...further].map((problem) => [problem.field, problem]));
  const problems = [...byField.values()].filter(({ field }) => !containersOf(field).some((each) => byField.has(each)));
  return problems.slice(0, maxProblems);
}

/** `quietHours.push.from` → `quietHours`, `quietHours.push` */
function containersOf(field: string): string[] {
  return [...field.matchAll(/[.[]/g)].map(({ index }) => field.slice(0, index));
}

/** Members of lists have their released names: `allowedDomains[0]`, but `ids.0`. */
function fieldOf({ instancePath = '', params = {} }: Partial<ErrorObject>): string {
  const path = [...instancePath.split('/').slice(1), params.missingProperty, params.additionalProperty];
  return path
    .filter((part) => part !== undefined)
    .join('.')
    .replace(/^allowedDomains\.(\d+)$/, 'allowedDomains[$1]');
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a JSON object',
};

function problemOf({ keyword, params = {}, message = 'is not valid' }: Partial<ErrorObject>): string {
  if (keyword === 'type') {
    const types = [params.type].flat() as string[];
    return `must be ${types.map((type) => typeNames[type] ?? type).join(' or ')}`;
  }
  if (keyword === 'required') return 'is required';
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`;
  return message;
}
