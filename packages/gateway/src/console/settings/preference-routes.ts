import type { Preferences } from '@tocsin/contract/console';
import type { FastifyInstance } from 'fastify';
import { parseTimeZone, type QuietHours, type QuietSpan } from '../../core/quiet-hours.ts';
import type { Owner } from '../../usecases/ports/index.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { ownerOf } from '../signed-in.ts';
import { changeOwner } from './change-owner.ts';
import { Fields, isObject } from './fields.ts';

const maxRetentionDays = 36_500;

export function addPreferenceRoutes(app: FastifyInstance, { store, service }: ConsoleApiParts): void {
  app.get('/preferences', async (request) => toPreferences(ownerOf(request)));

  app.put('/preferences', async (request) => {
    const changed = await changeOwner(store, ownerOf(request).id, (owner) => ({
      ...owner,
      ...readPreferences(request.body, owner, service.retentionDays),
    }));
    return toPreferences(changed);
  });
}

function readPreferences(body: unknown, owner: Owner, serviceDays: number): Preferences {
  const fields = new Fields(body);
  const wanted: Preferences = {
    name: fields.text('name', 100),
    emailAlerts: fields.flag('emailAlerts'),
    quietHours: readQuietHours(fields),
    retentionDays: readRetention(fields, serviceDays),
  };
  if (wanted.emailAlerts && owner.email === null) fields.wrong('emailAlerts', 'needs an e-mail address to send to');
  fields.check();
  return wanted;
}

function readQuietHours(fields: Fields): QuietHours | null {
  const given = fields.value('quietHours') ?? null;
  if (given === null) return null;
  if (!isObject(given)) {
    fields.wrong('quietHours', 'must be an object or null');
    return null;
  }
  const timeZone = typeof given.timeZone === 'string' ? parseTimeZone(given.timeZone) : undefined;
  if (timeZone === undefined) fields.wrong('quietHours.timeZone', 'must be a time zone such as Europe/Berlin');
  const span = (channel: 'push' | 'email' | 'mqtt'): QuietSpan | null => {
    const problem = spanProblem(given[channel]);
    if (problem !== null) fields.wrong(`quietHours.${channel}`, problem);
    const { from, to } = isObject(given[channel]) ? (given[channel] as unknown as QuietSpan) : {};
    return from === undefined || to === undefined ? null : { from, to };
  };
  return { timeZone: timeZone ?? 'UTC', push: span('push'), email: span('email'), mqtt: span('mqtt') };
}

function spanProblem(span: unknown): string | null {
  if (span === null || span === undefined) return null;
  const { from, to } = isObject(span) ? span : {};
  if (!isTimeOfDay(from) || !isTimeOfDay(to)) return 'must have from and to as HH:MM, such as 22:00 and 07:00';
  return from === to ? 'must not end when it begins' : null;
}

function isTimeOfDay(text: unknown): text is string {
  return typeof text === 'string' && /^([01]\d|2[0-3]):[0-5]\d$/.test(text);
}

function readRetention(fields: Fields, serviceDays: number): number | null {
  const days = fields.value('retentionDays') ?? null;
  const most = serviceDays === 0 ? maxRetentionDays : Math.min(serviceDays, maxRetentionDays);
  if (days === null || (typeof days === 'number' && Number.isInteger(days) && days >= 1 && days <= most)) return days;
  fields.wrong('retentionDays', `must be null or a whole number from 1 to ${most}`);
  return null;
}

function toPreferences({ name, emailAlerts, quietHours, retentionDays }: Owner): Preferences {
  return { name, emailAlerts, quietHours, retentionDays };
}
