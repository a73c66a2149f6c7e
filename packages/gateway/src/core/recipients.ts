// Where an owner can be reached, and the owner's preferences.
import type { QuietHours } from './quiet-hours.ts';

export interface Recipients {
  email: string | null;
  emailAlerts: boolean;
  quietHours: QuietHours | null;
  devices: readonly Device[];
  pushTargets: readonly PushTarget[];
}

export interface Device {
  id: string;
  state: 'active' | 'inactive';
  paused: boolean;
}

export interface PushTarget {
  id: string;
  provider: 'webpush' | 'fcm' | 'apns';
  token: string;
}

export function isPublishable({ state, paused }: Pick<Device, 'state' | 'paused'>): boolean {
  return state === 'active' && !paused;
}
