// The API between the console and the inbox app: one table of routes, from which the console registers its handlers and the
// app makes its requests. Times are milliseconds since 1970.
//
// A route is written in the file of its subject: its path in `…Routes`, its schemas in `…Operations`. The app imports the
// former at run time and the latter as types only, so that no schema is part of its bundle.
//
// Requests that change something must come from the console's own pages: the Origin header decides.
import { apiDescriptionOperations, apiDescriptionRoutes } from './api-description.ts';
import { deviceOperations, deviceRoutes } from './devices.ts';
import { inboxOperations, inboxRoutes } from './inbox.ts';
import { keyOperations, keyRoutes } from './keys.ts';
import { ownerOperations, ownerRoutes } from './owners.ts';
import { passkeyOperations, passkeyRoutes } from './passkeys.ts';
import { pushTargetOperations, pushTargetRoutes } from './push-targets.ts';
import type { Operation, RouteText } from './route.ts';
import type { TypeOf } from './schema.ts';
import { sessionOperations, sessionRoutes } from './sessions.ts';
import { settingsOperations, settingsRoutes } from './settings.ts';
import { signInOperations, signInRoutes } from './sign-in.ts';

export type * from './devices.ts';
export type * from './errors.ts';
export type * from './inbox.ts';
export type * from './keys.ts';
export type * from './owners.ts';
export type * from './passkeys.ts';
export type * from './push-targets.ts';
export type { Params } from './route.ts';
export type * from './sessions.ts';
export type * from './settings.ts';
export type * from './sign-in.ts';
export type * from './test-result.ts';

type Table<Routes extends Record<string, RouteText>, Operations extends Record<keyof Routes, Operation>> = {
  [Name in keyof Routes as Routes[Name]]: Operations[Name];
};

type ConsoleTable = Table<typeof apiDescriptionRoutes, typeof apiDescriptionOperations> &
  Table<typeof deviceRoutes, typeof deviceOperations> &
  Table<typeof inboxRoutes, typeof inboxOperations> &
  Table<typeof keyRoutes, typeof keyOperations> &
  Table<typeof ownerRoutes, typeof ownerOperations> &
  Table<typeof passkeyRoutes, typeof passkeyOperations> &
  Table<typeof pushTargetRoutes, typeof pushTargetOperations> &
  Table<typeof sessionRoutes, typeof sessionOperations> &
  Table<typeof settingsRoutes, typeof settingsOperations> &
  Table<typeof signInRoutes, typeof signInOperations>;

/** Every route of the console API, such as `DELETE /keys/:id`. */
export type ConsoleRoute = keyof ConsoleTable;

type Part<Route extends ConsoleRoute, Name extends keyof Operation> = ConsoleTable[Route] extends {
  readonly [Key in Name]: infer Each;
}
  ? TypeOf<Each>
  : undefined;

/** undefined: the route has none. */
export type BodyOf<Route extends ConsoleRoute> = Part<Route, 'body'>;
export type QueryOf<Route extends ConsoleRoute> = Part<Route, 'query'>;
export type ResponseOf<Route extends ConsoleRoute> = Part<Route, 'response'>;

/** The whole table. */
export const consoleTable: ReadonlyMap<ConsoleRoute, Operation> = new Map([
  ...rows(apiDescriptionRoutes, apiDescriptionOperations),
  ...rows(deviceRoutes, deviceOperations),
  ...rows(inboxRoutes, inboxOperations),
  ...rows(keyRoutes, keyOperations),
  ...rows(ownerRoutes, ownerOperations),
  ...rows(passkeyRoutes, passkeyOperations),
  ...rows(pushTargetRoutes, pushTargetOperations),
  ...rows(sessionRoutes, sessionOperations),
  ...rows(settingsRoutes, settingsOperations),
  ...rows(signInRoutes, signInOperations),
]);

function rows<Name extends string, Route extends ConsoleRoute>(
  routes: Readonly<Record<Name, Route>>,
  operations: Readonly<Record<Name, Operation>>,
): [Route, Operation][] {
  return (Object.keys(routes) as Name[]).map((name) => [routes[name], operations[name]]);
}
