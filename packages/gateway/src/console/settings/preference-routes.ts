import type { FieldProblem, Preferences } from '@tocsin/contract/console';
import { settingsRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance } from 'fastify';
import { parseTimeZone } from '../../core/quiet-hours.ts';
import type { Owner } from '../../usecases/ports/index.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { addRoute } from '../route.ts';
import { ownerOf } from '../signed-in.ts';
import { changeOwner } from './change-owner.ts';

export function addPreferenceRoutes(app: FastifyInstance, { store, service }: ConsoleApiDeps): void {
  addRoute(app, settingsRoutes.getPreferences, async (request) => toPreferences(ownerOf(request)));

  addRoute(
    app,
    settingsRoutes.updatePreferences,
    async (request) => {
      const { name, emailAlerts, quietHours, retentionDays } = request.body;
      const changed = await changeOwner(store, ownerOf(request).id, (owner) => ({
        ...owner,
        name,
        emailAlerts: emailAlerts && owner.email !== null,
        quietHours: quietHours && canonicalQuietHours(quietHours),
        retentionDays,
      }));
      return toPreferences(changed);
    },
    {
      refine({ emailAlerts, retentionDays }, request): FieldProblem[] {
        const problems: FieldProblem[] = [];
        if (emailAlerts === true && ownerOf(request).email === null)
          problems.push({ field: 'emailAlerts', problem: 'needs an email address to send to' });
        const limit = service.retentionDays;
        if (limit !== 0 && typeof retentionDays === 'number' && retentionDays > limit)
          problems.push({ field: 'retentionDays', problem: `must be null or a whole number from 1 to ${limit}` });
        return problems;
      },
    },
  );
}

/** The time zone in the spelling of Intl, and no further members. */
function canonicalQuietHours({ timeZone, push, email, mqtt }: NonNullable<Preferences['quietHours']>) {
  const span = (each: typeof push) => each && { from: each.from, to: each.to };
  return { timeZone: parseTimeZone(timeZone) ?? timeZone, push: span(push), email: span(email), mqtt: span(mqtt) };
}

function toPreferences({ name, emailAlerts, quietHours, retentionDays }: Owner): Preferences {
  return { name, emailAlerts, quietHours, retentionDays };
}
