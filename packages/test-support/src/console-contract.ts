// Checks responses of the console against the schemas of its route table.
import assert from 'node:assert/strict';
import { type ConsoleRoute, consoleTable } from '@tocsin/contract/console';
import { apiPrefix, splitRoute } from '@tocsin/contract/console/route';
import type { Schema } from '@tocsin/contract/console/schema';
import { Ajv, type ValidateFunction } from 'ajv';

const ajv = new Ajv({ allErrors: true, strict: false });
const validators = new Map<ConsoleRoute, ValidateFunction>();

/** The route of a request; undefined: not one of the table. */
export function routeOf(method: string, url: string): ConsoleRoute | undefined {
  const path = url.replace(/\?.*$/s, '');
  const matches = [...consoleTable.keys()].filter((route) => {
    const known = splitRoute(route);
    const pattern = new RegExp(`^${apiPrefix}${known.path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`);
    return known.method === method && pattern.test(path);
  });
  // A literal segment has precedence over a parameter.
  return matches.find((route) => !route.includes(':')) ?? matches[0];
}

/** Fails for a successful response that has another status, or another form, than the table says. */
export function assertResponse(method: string, url: string, { status, body }: { status: number; body: unknown }): void {
  const route = status < 300 ? routeOf(method, url) : undefined;
  if (route === undefined) return;
  const operation = consoleTable.get(route);
  assert.equal(status, operation?.status ?? 200, `status of ${route}`);
  if (operation?.response === undefined) return;
  const validate = validators.get(route) ?? ajv.compile(closed(operation.response));
  validators.set(route, validate);
  assert.ok(validate(body), `${route}: ${JSON.stringify(validate.errors)}`);
}

/** The same schema, without additional properties. */
function closed(schema: Schema): Schema {
  const { properties, items, anyOf } = schema;
  return {
    ...schema,
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, closed(each)])),
      required: Object.keys(properties),
      additionalProperties: typeof schema.additionalProperties === 'object' ? schema.additionalProperties : false,
    }),
    ...(items !== undefined && { items: closed(items) }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(closed) }),
  };
}
