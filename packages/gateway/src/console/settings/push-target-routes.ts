import type { PushTargetEntry } from '@tocsin/contract/console';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { digestOf } from '../../core/key-format.ts';
import type { StoredPushTarget } from '../../usecases/ports/index.ts';
import { newId } from '../../usecases/registration.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { ConsoleRefusal, notFound } from '../refusal.ts';
import { ownerOf } from '../signed-in.ts';
import { checkRoom } from './ceilings.ts';
import { Fields, isObject } from './fields.ts';
import type { SendTest } from './test-sends.ts';

interface OneTarget {
  Params: { id: string };
}

export function addPushTargetRoutes(app: FastifyInstance, parts: ConsoleApiParts, sendTest: SendTest): void {
  const { store, makers, now } = parts;

  /** A target of another owner is not found, exactly as one that never was. */
  async function find(request: FastifyRequest<OneTarget>): Promise<StoredPushTarget> {
    const { id } = request.params;
    const target = await store.pushTargets.find(id);
    if (target === null || target.ownerId !== ownerOf(request).id) throw notFound('push target');
    return target;
  }

  function list(request: FastifyRequest): Promise<StoredPushTarget[]> {
    const onDamaged = (id: string): void => parts.onError(new Error(`The push target ${id} does not open.`), request);
    return store.pushTargets.list(ownerOf(request).id, onDamaged);
  }

  /** One for each endpoint: the newest, whoever else adds it at the same moment. */
  async function keepNewest(request: FastifyRequest, endpoint: string): Promise<StoredPushTarget | undefined> {
    const same = (await list(request)).filter((target) => endpointOf(target) === endpoint);
    const newest = same.pop();
    for (const { id } of same) await store.pushTargets.delete(id);
    return newest;
  }

  app.get('/push-targets', async (request) => ({ pushTargets: (await list(request)).map(toEntry) }));

  app.post('/push-targets', async (request, reply) => {
    const { label, endpoint, token } = readSubscription(request.body, parts.webPushProblem);
    const others = (await list(request)).filter((target) => endpointOf(target) !== endpoint);
    checkRoom('push targets', others.length);
    const target: StoredPushTarget = {
      id: newId('psh', makers),
      ownerId: ownerOf(request).id,
      provider: 'webpush',
      token,
      label,
      createdAt: now(),
      disabledAt: null,
    };
    await store.pushTargets.create(target);
    const kept = await keepNewest(request, endpoint);
    reply.code(201);
    return toEntry(kept ?? target);
  });

  app.delete<OneTarget>('/push-targets/:id', async (request, reply) => {
    const { id } = await find(request);
    if (!(await store.pushTargets.delete(id))) throw notFound('push target');
    return reply.code(204).send();
  });

  app.post<OneTarget>('/push-targets/:id/test', async (request) => {
    const target = await find(request);
    if (target.disabledAt !== null) {
      throw new ConsoleRefusal(
        'conflict',
        'The push service says that this one is no more. Let the browser ring again, or remove it here.',
      );
    }
    return sendTest(request, { channel: 'push', target });
  });
}

function readSubscription(body: unknown, problemOf: ConsoleApiParts['webPushProblem']) {
  const fields = new Fields(body);
  const label = fields.optionalText('label', 200);
  const subscription = fields.value('subscription');
  const { endpoint, keys } = isObject(subscription) ? subscription : {};
  const { p256dh, auth } = isObject(keys) ? keys : {};
  const token = JSON.stringify({ endpoint, keys: { p256dh, auth } });
  const problem = problemOf(token);
  if (problem !== null) fields.wrong('subscription', `cannot be used: ${problem.replace(/\.$/, '')}`);
  fields.check();
  return { label, endpoint: endpoint as string, token };
}

function endpointOf({ provider, token }: StoredPushTarget): string | null {
  return provider === 'webpush' ? (JSON.parse(token) as { endpoint: string }).endpoint : null;
}

/** Without the token: whoever has it could send in the name of the service that has the other half. */
function toEntry(target: StoredPushTarget): PushTargetEntry {
  const { id, provider, label, createdAt, disabledAt } = target;
  const endpoint = endpointOf(target);
  return {
    id,
    provider,
    label,
    createdAt,
    disabledAt,
    endpointDigest: endpoint === null ? null : digestOf(endpoint),
  };
}
