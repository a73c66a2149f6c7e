// The parts of OpenAPI that our own document uses.

export interface OpenApiDocument {
  info: { title: string; version: string; summary: string; description: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    securitySchemes: Record<string, SecurityScheme>;
    headers: Record<string, HeaderEntry>;
    schemas: Record<string, Schema>;
  };
}

export interface SecurityScheme {
  type: 'http' | 'apiKey';
  name?: string;
  description?: string;
}

export interface Operation {
  summary: string;
  description?: string;
  security?: object[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, ResponseEntry>;
}

export interface Parameter {
  name: string;
  in: 'header' | 'query' | 'path' | 'cookie';
  description?: string;
  required?: boolean;
  schema: Schema;
  example?: unknown;
}

export interface Content {
  schema: Schema;
  examples?: Record<string, { summary?: string; value: unknown }>;
}

export interface HeaderEntry {
  $ref?: string;
  description?: string;
  example?: string;
  schema?: Schema;
}

export interface ResponseEntry {
  description: string;
  headers?: Record<string, HeaderEntry>;
  content?: Record<string, Content>;
}

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  minLength?: number;
  maxLength?: number;
  maxProperties?: number;
  examples?: unknown[];
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  allOf?: Schema[];
}

/** Replaces `$ref` by its target; members next to `$ref` override those of the target. */
export function resolve<T extends { $ref?: string }>(document: OpenApiDocument, entry: T): T {
  if (entry.$ref === undefined) return entry;
  const [, , group = '', name = ''] = entry.$ref.split('/');
  const groups = document.components as unknown as Record<string, Record<string, T>>;
  const { $ref: _, ...siblings } = entry;
  return { ...(groups[group]?.[name] as T), ...siblings };
}

export interface FieldRow {
  /** Nested fields have dotted names. */
  name: string;
  schema: Schema;
  isRequired: boolean;
}

/** The fields of an object, each followed by its nested fields. */
export function fieldRows(document: OpenApiDocument, given: Schema, prefix = ''): FieldRow[] {
  const schema = resolve(document, given);
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const field = resolve(document, property);
    const path = `${prefix}${name}`;
    const isRequired = schema.required?.includes(name) ?? false;
    return [{ name: path, schema: field, isRequired }, ...fieldRows(document, field, `${path}.`)];
  });
  const parts = [
    ...(schema.anyOf ?? []),
    ...(schema.allOf ?? []),
    ...(schema.items === undefined ? [] : [schema.items]),
  ];
  return [...own, ...parts.flatMap((part) => fieldRows(document, part, prefix))];
}
