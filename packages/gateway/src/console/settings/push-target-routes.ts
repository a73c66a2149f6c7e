import type { PushTargetEntry } from '@tocsin/contract/console';
import { pushTargetRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { digestOf } from '../../core/key-format.ts';
import type { StoredPushTarget } from '../../usecases/ports/index.ts';
import { newId } from '../../usecases/registration.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { ConsoleRefusal, notFound } from '../refusal.ts';
import { addRoute } from '../route.ts';
import { ownerOf } from '../signed-in.ts';
import { assertQuota } from './quotas.ts';
import type { SendTest } from './test-sends.ts';

export function addPushTargetRoutes(app: FastifyInstance, deps: ConsoleApiDeps, sendTest: SendTest): void {
  const { store, environment, now, webPushProblem } = deps;

  /** A target of another owner is reported as not found. */
  async function find(request: FastifyRequest<{ Params: { id: string } }>): Promise<StoredPushTarget> {
    const { id } = request.params;
    const target = await store.pushTargets.find(id);
    if (target === null || target.ownerId !== ownerOf(request).id) throw notFound('push target');
    return target;
  }

  function list(request: FastifyRequest): Promise<StoredPushTarget[]> {
    const onDamaged = (id: string): void =>
      deps.onError(new Error(`The push target ${id} cannot be decrypted.`), request);
    return store.pushTargets.list(ownerOf(request).id, onDamaged);
  }

  /** Keeps one target per endpoint, the newest, also when several requests add it at the same moment. */
  async function keepNewest(request: FastifyRequest, endpoint: string | null): Promise<StoredPushTarget | undefined> {
    const same = (await list(request)).filter((target) => endpointOf(target) === endpoint);
    const newest = same.pop();
    for (const { id } of same) await store.pushTargets.delete(id);
    return newest;
  }

  addRoute(app, pushTargetRoutes.listPushTargets, async (request) => ({
    pushTargets: (await list(request)).map(toEntry),
  }));

  addRoute(
    app,
    pushTargetRoutes.addPushTarget,
    async (request) => {
      const { label, subscription } = request.body;
      const target: StoredPushTarget = {
        id: newId('psh', environment),
        ownerId: ownerOf(request).id,
        provider: 'webpush',
        token: tokenOf(subscription),
        label,
        createdAt: now(),
        disabledAt: null,
      };
      const endpoint = endpointOf(target);
      const others = (await list(request)).filter((known) => endpointOf(known) !== endpoint);
      assertQuota('push targets', others.length);
      await store.pushTargets.create(target);
      return toEntry((await keepNewest(request, endpoint)) ?? target);
    },
    {
      refine({ subscription }) {
        if (typeof subscription !== 'object' || subscription === null) return [];
        const problem = webPushProblem(tokenOf(subscription));
        if (problem === null) return [];
        return [{ field: 'subscription', problem: `cannot be used: ${problem.replace(/\.$/, '')}` }];
      },
    },
  );

  addRoute(app, pushTargetRoutes.deletePushTarget, async (request) => {
    const { id } = await find(request);
    if (!(await store.pushTargets.delete(id))) throw notFound('push target');
  });

  addRoute(app, pushTargetRoutes.testPushTarget, async (request) => {
    const target = await find(request);
    if (target.disabledAt !== null) {
      throw new ConsoleRefusal(
        'conflict',
        'This subscription has expired. Enable notifications in that browser again, or remove it.',
      );
    }
    return sendTest(request, { channel: 'push', target });
  });
}

/** The stored form of a PushSubscriptionJSON: the endpoint and the two keys. */
function tokenOf({ endpoint, keys }: { endpoint?: unknown; keys?: unknown }): string {
  const { p256dh, auth } = (typeof keys === 'object' && keys !== null ? keys : {}) as Record<string, unknown>;
  return JSON.stringify({ endpoint, keys: { p256dh, auth } });
}

function endpointOf({ provider, token }: StoredPushTarget): string | null {
  return provider === 'webpush' ? (JSON.parse(token) as { endpoint: string }).endpoint : null;
}

/** Omits the token: with it, and the key of this service, push messages could be sent in its name. */
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
