import { parseAllowedDomain } from '@tocsin/contract';
import type { CreatedKeyEntry, KeyEntry, NewKey } from '@tocsin/contract/console';
import type { FastifyInstance } from 'fastify';
import { formatRate, parseRate, type Rate } from '../../core/rate.ts';
import type { ApiKey } from '../../usecases/ports/index.ts';
import { createKey } from '../../usecases/registration.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { notFound } from '../refusal.ts';
import { ownerOf } from '../signed-in.ts';
import { checkRoom } from './ceilings.ts';
import { Fields } from './fields.ts';

const maxDomains = 100;
/** The last moment that a Date can hold. */
const endOfTime = 8.64e15;

export function addKeyRoutes(app: FastifyInstance, { store, makers, now, onError }: ConsoleApiParts): void {
  app.get('/keys', async (request) => {
    const onDamaged = (id: string): void => onError(new Error(`The key ${id} does not open.`), request);
    const keys = await store.keys.list(ownerOf(request).id, onDamaged);
    return { keys: keys.map(toEntry) };
  });

  app.post('/keys', async (request, reply) => {
    const wanted = readKey(request.body, now());
    const { id: ownerId } = ownerOf(request);
    const live = (await store.keys.list(ownerId, passOver)).filter(({ revokedAt }) => revokedAt === null);
    checkRoom('keys', live.length);
    const { key, value } = await createKey(store, makers, { ownerId, ...wanted });
    reply.code(201);
    return { key: toEntry(key), value } satisfies CreatedKeyEntry;
  });

  app.delete<{ Params: { id: string } }>('/keys/:id', async (request) => {
    const { id } = request.params;
    const isTheirs = (await store.keys.list(ownerOf(request).id, passOver)).some((key) => key.id === id);
    const revoked = isTheirs ? await store.keys.revoke(id, now()) : null;
    if (revoked === null) throw notFound('key');
    return toEntry(revoked);
  });
}

function passOver(): void {
  // The list says which do not open.
}

function readKey(body: unknown, now: number) {
  const fields = new Fields(body);
  const wanted = {
    type: readType(fields),
    label: fields.optionalText('label', 100),
    allowedDomains: readDomains(fields),
    requireSignature: fields.flag('requireSignature'),
    rateLimit: readRate(fields),
    expiresAt: readExpiry(fields, now),
  };
  fields.check();
  return wanted;
}

/** Those that send notifications; the other types are for services that the command line knows of. */
function readType(fields: Fields): NewKey['type'] {
  const types: readonly NewKey['type'][] = ['public_client', 'internal_service'];
  const type = types.find((name) => name === fields.value('type'));
  if (type === undefined) fields.wrong('type', `must be one of ${types.join(', ')}`);
  return type ?? 'public_client';
}

function readDomains(fields: Fields): string[] {
  const given = fields.value('allowedDomains') ?? [];
  if (!Array.isArray(given) || given.length > maxDomains) {
    fields.wrong('allowedDomains', `must be a list of at most ${maxDomains} domains`);
    return [];
  }
  const domains = given.map((entry: unknown, index) => {
    const domain = typeof entry === 'string' && entry.length <= 300 ? parseAllowedDomain(entry) : undefined;
    if (domain === undefined) {
      fields.wrong(`allowedDomains[${index}]`, 'must be a domain such as example.com, *.example.com or http://nas');
    }
    return domain ?? '';
  });
  return [...new Set(domains)];
}

function readRate(fields: Fields): Rate | null {
  const text = fields.optionalText('rateLimit', 20);
  const rate = text === null ? null : parseRate(text);
  if (rate === undefined) fields.wrong('rateLimit', 'must look like 100/m (s, m, h or d)');
  return rate ?? null;
}

function readExpiry(fields: Fields, now: number): number | null {
  const value = fields.value('expiresAt') ?? null;
  if (value === null) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value > now && value <= endOfTime) return value;
  fields.wrong('expiresAt', 'must be a time to come, in milliseconds since 1970');
  return null;
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
