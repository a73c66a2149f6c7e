// Creates and changes hooks, for the command line and the console.
import { hookLimits } from '@tocsin/contract';
import { createHookToken } from '../core/hook-token.ts';
import { digestOf } from '../core/key-format.ts';
import type { Hook, Store } from './ports/index.ts';
import { type Environment, newId } from './registration.ts';

export interface CreatedHook {
  hook: Hook;
  /** Shown once; only its digest is kept. */
  token: string;
}

/** The fields that an owner chooses. */
export type HookFields = Pick<
  Hook,
  'name' | 'preset' | 'secret' | 'severity' | 'disabledChannels' | 'rateLimit' | 'repeatSeconds' | 'allowsGet'
>;

export async function createHook(
  store: Pick<Store, 'hooks'>,
  environment: Environment,
  { ownerId, ...fields }: Partial<HookFields> & Pick<Hook, 'ownerId' | 'name'>,
): Promise<CreatedHook> {
  const token = createHookToken(environment.randomIndex);
  const hook: Hook = {
    id: newId('hk', environment),
    ownerId,
    preset: 'auto',
    tokens: [{ digest: digestOf(token), expiresAt: null }],
    secret: null,
    severity: null,
    disabledChannels: [],
    rateLimit: null,
    repeatSeconds: hookLimits.repeatSeconds,
    allowsGet: false,
    ...fields,
    createdAt: environment.now(),
    disabledAt: null,
  };
  await store.hooks.create(hook);
  return { hook, token };
}

/** Replaces the token; those before it are accepted for `overlapMs` more. null: there is no such hook. */
export async function rotateHookToken(
  store: Pick<Store, 'hooks'>,
  environment: Environment,
  id: string,
  overlapMs: number,
): Promise<CreatedHook | null> {
  const token = createHookToken(environment.randomIndex);
  const now = environment.now();
  const hook = await store.hooks.change(id, (before) => ({
    ...before,
    tokens: [
      { digest: digestOf(token), expiresAt: null },
      ...before.tokens
        .map(({ digest, expiresAt }) => ({
          digest,
          expiresAt: Math.min(expiresAt ?? now + overlapMs, now + overlapMs),
        }))
        .filter(({ expiresAt }) => expiresAt > now),
    ],
  }));
  return hook === null ? null : { hook, token };
}

/** Whether a token with this digest is accepted now. */
export function acceptsToken({ tokens, disabledAt }: Hook, digest: string, now: number): boolean {
  const token = tokens.find((each) => each.digest === digest);
  return disabledAt === null && token !== undefined && (token.expiresAt === null || token.expiresAt > now);
}
