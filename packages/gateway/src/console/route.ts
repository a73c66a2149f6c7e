// Registers handlers for the routes of the contract's table, with its method, path, access and schemas.
import {
  type BodyOf,
  type ConsoleRoute,
  consoleTable,
  type FieldProblem,
  type Params,
  type QueryOf,
  type ResponseOf,
} from '@tocsin/contract/console';
import { type Operation, splitRoute } from '@tocsin/contract/console/route';
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import { invalidBody } from './refusal.ts';
import { fieldProblems } from './validation.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: 'public' | 'session' | 'operator';
  }
}

export type RouteRequest<Route extends ConsoleRoute> = FastifyRequest<{
  Params: Params<Route>;
  Body: BodyOf<Route>;
  Querystring: QueryOf<Route>;
}>;

/** Routes without a response body redirect, stream, or return nothing for 204. */
type Handler<Route extends ConsoleRoute> = (
  request: RouteRequest<Route>,
  reply: FastifyReply,
) => ResponseOf<Route> extends undefined ? Promise<FastifyReply> | Promise<void> : Promise<ResponseOf<Route>>;

type UncheckedBody<Route extends ConsoleRoute> = Partial<Record<keyof BodyOf<Route>, unknown>>;

export interface RouteOptions<Route extends ConsoleRoute> {
  /**
   * Further problems of the body, which depend on the owner or on the service; they are reported together with those that
   * the schema finds. The body may be invalid.
   */
  refine?: (body: UncheckedBody<Route>, request: RouteRequest<Route>) => FieldProblem[];
}

/** The form of every id. Anything else is not looked up: PostgreSQL does not accept every text as a value. */
const idParams = { type: 'object', additionalProperties: { type: 'string', pattern: '^[\\w-]{1,64}$' } } as const;

export function addRoute<Route extends ConsoleRoute>(
  app: FastifyInstance,
  route: Route,
  handler: Handler<Route>,
  { refine }: RouteOptions<Route> = {},
): void {
  const operation = consoleTable.get(route) as Operation;
  const { method, path } = splitRoute(route);
  const { access = 'session', status, stream } = operation;
  app.route({
    method,
    url: path,
    config: { access },
    schema: schemaOf(operation, path),
    attachValidation: refine !== undefined,
    // A HEAD request would open a stream, too.
    exposeHeadRoute: stream === undefined,
    handler: async (request, reply) => {
      const typed = request as unknown as RouteRequest<Route>;
      if (refine !== undefined) checkBody(request, refine(uncheckedBody<Route>(request), typed));
      if (status !== undefined) reply.code(status);
      const result = await handler(typed, reply);
      return status === 204 ? reply.send() : result;
    },
  });
}

function schemaOf({ body, query }: Operation, path: string): FastifySchema {
  return {
    ...(path.includes(':') && { params: idParams }),
    ...(body !== undefined && { body }),
    ...(query !== undefined && { querystring: query }),
  };
}

function uncheckedBody<Route extends ConsoleRoute>({ body }: FastifyRequest): UncheckedBody<Route> {
  return typeof body === 'object' && body !== null ? (body as UncheckedBody<Route>) : {};
}

function checkBody({ validationError }: FastifyRequest, further: FieldProblem[]): void {
  if (validationError !== undefined && validationError.validationContext !== 'body') throw validationError;
  const problems = fieldProblems(validationError?.validation ?? [], further);
  if (problems.length > 0) throw invalidBody(problems);
}
