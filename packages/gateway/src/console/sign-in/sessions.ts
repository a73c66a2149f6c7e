// The browsers in which an owner is signed in.
import type { SessionEntry } from '@tocsin/contract/console';
import type { FastifyInstance } from 'fastify';
import type { ConsoleApiParts } from '../deps.ts';
import { notFound } from '../refusal.ts';
import { signedIn } from '../signed-in.ts';
import { clearCookie } from './cookies.ts';
import { endSession } from './session.ts';

export function addSessionRoutes(api: FastifyInstance, parts: ConsoleApiParts): void {
  const { store, now, addresses } = parts;

  api.get('/sessions', async (request) => {
    const { owner, session } = signedIn(request);
    const sessions: SessionEntry[] = (await store.sessions.list(owner.id, now())).map((each) => {
      const { id, method, userAgent, address, createdAt, seenAt } = each;
      return { id, method, userAgent, address, createdAt, seenAt, isThisOne: id === session.id };
    });
    return { sessions };
  });

  api.delete<{ Params: { id: string } }>('/sessions/:id', async (request, reply) => {
    const { owner, session } = signedIn(request);
    const { id } = request.params;
    if (!(await store.sessions.delete(owner.id, id))) throw notFound('session');
    if (id === session.id) clearCookie(reply, addresses, 'session');
    return reply.code(204).send();
  });

  api.post('/sessions/sign-out-others', async (request) => {
    const { owner, session } = signedIn(request);
    return { count: await store.sessions.deleteOthers(owner.id, session.id) };
  });

  api.post('/sign-out', async (request, reply) => {
    await endSession(parts, request, reply);
    return reply.code(204).send();
  });
}
