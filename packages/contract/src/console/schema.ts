// Builders of JSON Schema whose result also carries the TypeScript type that it describes. Two keywords go beyond the
// standard, `line` and `check`; the validator of the console implements them.
import type { JsonObject } from '../types.ts';

/** JSON Schema of `T`. The type parameter exists at compile time only. */
export interface Schema<T = unknown> {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly anyOf?: readonly Schema[];
  readonly default?: unknown;
  /** One line of printable text with this maximum length. It is trimmed; where null is allowed, blank text becomes null. */
  readonly line?: number;
  readonly check?: CheckName;
  readonly '~type'?: T;
}

/** Rules that JSON Schema cannot express. */
export type CheckName = 'allowedDomain' | 'emailAddress' | 'expiry' | 'quietSpan' | 'rateLimit' | 'timeZone';

export type TypeOf<S> = S extends { readonly '~type'?: infer T } ? Exclude<T, undefined> : never;

type Properties = Readonly<Record<string, Schema>>;
type Simplify<T> = { [Name in keyof T]: T[Name] };
type ObjectOf<Required, Optional> = Simplify<
  { -readonly [Name in keyof Required]: TypeOf<Required[Name]> } & {
    -readonly [Name in keyof Optional]?: TypeOf<Optional[Name]>;
  }
>;
type Limits = Omit<Schema, 'type' | '~type'>;

export function text(limits: Limits = {}): Schema<string> {
  return { type: 'string', ...limits };
}

export function integer(limits: Limits = {}): Schema<number> {
  return { type: 'integer', ...limits };
}

export function flag(): Schema<boolean> {
  return { type: 'boolean' };
}

export function oneOf<const Value extends string>(values: readonly Value[]): Schema<Value> {
  return { type: 'string', enum: values };
}

export function array<T>(items: Schema<T>, limits: Limits = {}): Schema<T[]> {
  return { type: 'array', items, ...limits };
}

/** A property that has a default may be absent from a request; the handler always finds it. */
export function object<Required extends Properties, Optional extends Properties = Record<never, never>>(
  required: Required,
  optional?: Optional,
): Schema<ObjectOf<Required, Optional>> {
  return {
    type: 'object',
    required: Object.keys(required).filter((name) => !('default' in (required[name] as Schema))),
    properties: { ...required, ...optional },
  };
}

/** Any JSON object. */
/** An object with further members, all of one type. */
/* @__NO_SIDE_EFFECTS__ */
export function withMembers<T, Member>(
  schema: Schema<T>,
  member: Schema<Member>,
): Schema<T & { [name: string]: Member | T[keyof T] }> {
  return { ...(schema as Schema), additionalProperties: member } as Schema<T & { [name: string]: Member | T[keyof T] }>;
}

/* @__NO_SIDE_EFFECTS__ */
export function anyObject(): Schema<JsonObject> {
  return { type: 'object' };
}

export function exact<T>(schema: Schema<T>): Schema<T> {
  return { ...schema, additionalProperties: false };
}

export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  const { type, enum: values, '~type': _, ...rest } = schema;
  return {
    ...rest,
    ...(type !== undefined && { type: [type, 'null'].flat() }),
    ...(values !== undefined && { enum: [...values, null] }),
  };
}

export function withDefault<T>(schema: Schema<T>, value: T): Schema<T> {
  return { ...schema, default: value };
}

export function union<const Each extends readonly Schema[]>(...anyOf: Each): Schema<TypeOf<Each[number]>> {
  return { anyOf };
}

/** The value must also pass a rule that JSON Schema cannot express. */
export function checked<T>(schema: Schema<T>, check: CheckName): Schema<T> {
  return { ...schema, check };
}

/** One line of text that may be absent, null or blank; all three mean null. */
export function optionalLine(maxLength: number, limits: Limits = {}): Schema<string | null> {
  return withDefault(nullable(text({ line: maxLength, ...limits })), null);
}
