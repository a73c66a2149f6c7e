// How a route is written in the table, and what its types follow from.
import type { Schema } from './schema.ts';

/** Every path of the table is below this one. */
export const apiPrefix = '/api';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Method and path: `GET /devices/:id`. A segment with a colon is a parameter. */
export type RouteText = `${Method} /${string}`;

/** What a route expects and returns. */
export interface Operation {
  /** Default: any owner who is signed in. */
  readonly access?: 'public' | 'operator';
  readonly query?: Schema;
  readonly body?: Schema;
  /** Default 200. 204 has no body. */
  readonly status?: 201 | 202 | 204;
  /** Body of the response; absent for redirects, streams and 204. */
  readonly response?: Schema;
  /** The response is a stream of these. */
  readonly stream?: Schema;
}

/** One route for each operation, by name. */
export type RoutesOf<Operations> = { readonly [Name in keyof Operations]: RouteText };

export type ParamNames<Route extends string> = Route extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Tail}`
    ? Name | ParamNames<Tail>
    : Rest
  : never;

export type Params<Route extends string> = { [Name in ParamNames<Route>]: string };

/** The method and the path below `apiPrefix`, parameters still by name. */
export function splitRoute(route: RouteText): { method: Method; path: string } {
  const [method, path] = route.split(' ') as [Method, string];
  return { method, path };
}

/** The URL of a route on the console's own origin. */
export function urlOf(
  route: RouteText,
  params: Readonly<Record<string, string>> = {},
  query?: Readonly<Record<string, string | number>>,
): string {
  const path = splitRoute(route).path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const search = query === undefined ? '' : `?${new URLSearchParams(query as Record<string, string>)}`;
  return `${apiPrefix}${path}${search}`;
}
