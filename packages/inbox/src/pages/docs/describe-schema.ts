// Describes the type and the constraints of a field.
import { text } from '../../text/index.ts';
import { type OpenApiDocument, resolve, type Schema } from './open-api.ts';

const words = text.docs;

export function describeType(document: OpenApiDocument, given: Schema): string {
  const schema = resolve(document, given);
  if (schema.anyOf !== undefined) return joined(schema.anyOf.map((part) => describeType(document, part)));
  if (schema.type === 'array' && schema.items !== undefined) return words.listOf(describeType(document, schema.items));
  if (schema.type !== undefined) return joined([schema.type].flat());
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  return values.length === 0 ? words.anything : joined(values.map((value) => (value === null ? 'null' : typeof value)));
}

function joined(types: string[]): string {
  return [...new Set(types)].join(words.or);
}

/** All constraints except the type, one sentence each. */
export function describeConstraints(schema: Schema): string[] {
  const { enum: values, examples = [] } = schema;
  return [
    ...(values === undefined ? [] : [words.oneOf(values.map(literal).join(', '))]),
    ...describe(schema.const, words.always),
    ...describe(schema.default, words.default),
    ...describe(schema.minimum, words.minimum),
    ...describe(schema.minLength, words.minLength),
    ...describe(schema.maxLength, words.maxLength),
    ...describe(schema.maxProperties, words.maxProperties),
    ...(schema.format === undefined ? [] : [words.format(schema.format)]),
    ...(schema.pattern === undefined ? [] : [words.pattern(schema.pattern)]),
    ...(examples.length === 0 ? [] : [words.example(examples.map(literal).join(', '))]),
  ];
}

function describe(value: unknown, sentence: (value: string) => string): string[] {
  return value === undefined ? [] : [sentence(literal(value))];
}

function literal(value: unknown): string {
  return JSON.stringify(value);
}
