// Types and limits of a field as people say them.
import { text } from '../../text/index.ts';
import { type OpenApiDocument, resolve, type Schema } from './open-api.ts';

const words = text.docs;

export function typeInWords(document: OpenApiDocument, given: Schema): string {
  const schema = resolve(document, given);
  if (schema.anyOf !== undefined) return joined(schema.anyOf.map((part) => typeInWords(document, part)));
  if (schema.type === 'array' && schema.items !== undefined) return words.listOf(typeInWords(document, schema.items));
  if (schema.type !== undefined) return joined([schema.type].flat());
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  return values.length === 0 ? words.anything : joined(values.map((value) => (value === null ? 'null' : typeof value)));
}

function joined(types: string[]): string {
  return [...new Set(types)].join(words.or);
}

/** Everything besides type and description. */
export function limitsInWords(schema: Schema): string[] {
  const { enum: values, examples = [] } = schema;
  return [
    ...(values === undefined ? [] : [words.oneOf(values.map(literal).join(', '))]),
    ...said(schema.const, words.always),
    ...said(schema.default, words.default),
    ...said(schema.minimum, words.minimum),
    ...said(schema.minLength, words.minLength),
    ...said(schema.maxLength, words.maxLength),
    ...said(schema.maxProperties, words.maxProperties),
    ...(schema.format === undefined ? [] : [words.format(schema.format)]),
    ...(schema.pattern === undefined ? [] : [words.pattern(schema.pattern)]),
    ...(examples.length === 0 ? [] : [words.example(examples.map(literal).join(', '))]),
  ];
}

function said(value: unknown, sentence: (value: string) => string): string[] {
  return value === undefined ? [] : [sentence(literal(value))];
}

function literal(value: unknown): string {
  return JSON.stringify(value);
}
