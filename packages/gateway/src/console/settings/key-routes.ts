import { canonicalDomains, formatRate, parseRate } from '@tocsin/contract';
import type { KeyEntry } from '@tocsin/contract/console';
import { keyRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance } from 'fastify';
import type { ApiKey } from '../../usecases/ports/index.ts';
import { createKey } from '../../usecases/registration.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { notFound } from '../refusal.ts';
import { addRoute } from '../route.ts';
import { ownerOf } from '../signed-in.ts';
import { assertQuota } from './quotas.ts';

export function addKeyRoutes(app: FastifyInstance, { store, environment, now, onError }: ConsoleApiDeps): void {
  addRoute(app, keyRoutes.listKeys, async (request) => {
    const onDamaged = (id: string): void => onError(new Error(`The key ${id} cannot be decrypted.`), request);
    const keys = await store.keys.list(ownerOf(request).id, onDamaged);
    return { keys: keys.map(toEntry) };
  });

  addRoute(app, keyRoutes.createKey, async (request) => {
    const { type, label, allowedDomains, requireSignature, rateLimit, expiresAt } = request.body;
    const { id: ownerId } = ownerOf(request);
    const live = (await store.keys.list(ownerId, skipDamaged)).filter(({ revokedAt }) => revokedAt === null);
    assertQuota('keys', live.length);
    const { key, value } = await createKey(store, environment, {
      ownerId,
      type,
      label,
      allowedDomains: canonicalDomains(allowedDomains ?? []),
      requireSignature,
      rateLimit: rateLimit === null ? null : (parseRate(rateLimit) ?? null),
      expiresAt,
    });
    return { key: toEntry(key), value };
  });

  addRoute(app, keyRoutes.revokeKey, async (request) => {
    const { id } = request.params;
    const isOwn = (await store.keys.list(ownerOf(request).id, skipDamaged)).some((key) => key.id === id);
    const revoked = isOwn ? await store.keys.revoke(id, now()) : null;
    if (revoked === null) throw notFound('key');
    return toEntry(revoked);
  });
}

function skipDamaged(): void {
  // The list reports keys that cannot be decrypted.
}

function toEntry(key: ApiKey): KeyEntry {
  const { id, type, label, allowedDomains, requireSignature, rateLimit, createdAt, expiresAt, revokedAt } = key;
  return {
    id,
    type,
    label,
    allowedDomains: [...allowedDomains],
    requireSignature,
    rateLimit: rateLimit === null ? null : formatRate(rateLimit),
    createdAt,
    expiresAt,
    revokedAt,
  };
}
