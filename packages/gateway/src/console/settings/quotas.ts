import { ConsoleRefusal } from '../refusal.ts';

/** Limits per owner: every list of an owner is read as a whole, and every device and push target gets every notification. */
const quotas = {
  keys: { limit: 1000, remedy: 'Revoke unused keys' },
  devices: { limit: 1000, remedy: 'Delete unused devices' },
  'push targets': { limit: 100, remedy: 'Remove unused push targets' },
} as const;

/** `count` is the present number. Requests at the same moment can exceed the limit by a few. */
export function assertQuota(what: keyof typeof quotas, count: number): void {
  const { limit, remedy } = quotas[what];
  if (count < limit) return;
  throw new ConsoleRefusal('conflict', `Limit reached: ${limit.toLocaleString('en')} ${what}. ${remedy}.`);
}
