// The browsers in which an owner is signed in.
import { sessionRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance } from 'fastify';
import type { ConsoleApiDeps } from '../deps.ts';
import { notFound } from '../refusal.ts';
import { addRoute } from '../route.ts';
import { signedIn } from '../signed-in.ts';
import { clearCookie } from './cookies.ts';

export function addSessionRoutes(api: FastifyInstance, deps: ConsoleApiDeps): void {
  const { store, now, addresses } = deps;

  addRoute(api, sessionRoutes.listSessions, async (request) => {
    const { owner, session } = signedIn(request);
    const sessions = (await store.sessions.list(owner.id, now())).map((each) => {
      const { id, method, userAgent, address, createdAt, seenAt } = each;
      return { id, method, userAgent, address, createdAt, seenAt, isThisOne: id === session.id };
    });
    return { sessions };
  });

  addRoute(api, sessionRoutes.deleteSession, async (request, reply) => {
    const { owner, session } = signedIn(request);
    const { id } = request.params;
    if (!(await store.sessions.delete(owner.id, id))) throw notFound('session');
    if (id === session.id) clearCookie(reply, addresses, 'session');
  });

  addRoute(api, sessionRoutes.signOutOthers, async (request) => {
    const { owner, session } = signedIn(request);
    return { count: await store.sessions.deleteOthers(owner.id, session.id) };
  });
}
