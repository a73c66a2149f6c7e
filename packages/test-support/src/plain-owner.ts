import type { Owner } from '../../gateway/src/usecases/ports/index.ts';

/** A stored owner with default settings. */
export function plainOwner(id: string, createdAt: number, profile: Partial<Owner> = {}): Owner {
  return {
    id,
    name: id,
    email: null,
    emailAlerts: false,
    role: 'owner',
    quietHours: null,
    retentionDays: null,
    createdAt,
    ...profile,
  };
}
