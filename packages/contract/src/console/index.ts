// The API between the console and the inbox app: one table of routes, from which the console registers its handlers and the
// app makes its requests. Times are milliseconds since 1970.
//
// Paths are in `routes.ts`; the schemas of each route are in the file of its subject, under the same name. Types of requests
// and responses are derived from the schemas.
//
// Requests that change something must come from the console's own pages: the Origin header decides.
import { apiDescriptionOperations } from './api-description.ts';
import { deviceOperations } from './devices.ts';
import { inboxOperations } from './inbox.ts';
import { keyOperations } from './keys.ts';
import { ownerOperations } from './owners.ts';
import { passkeyOperations } from './passkeys.ts';
import { pushTargetOperations } from './push-targets.ts';
import type { Operation, RouteText } from './route.ts';
import {
  apiDescriptionRoutes,
  deviceRoutes,
  inboxRoutes,
  keyRoutes,
  ownerRoutes,
  passkeyRoutes,
  pushTargetRoutes,
  sessionRoutes,
  settingsRoutes,
  signInRoutes,
} from './routes.ts';
import type { TypeOf } from './schema.ts';
import { sessionOperations } from './sessions.ts';
import { settingsOperations } from './settings.ts';
import { signInOperations } from './sign-in.ts';

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
