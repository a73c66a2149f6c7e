import type { FieldProblem, Preferences } from '@tocsin/contract/console';
import { settingsRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance } from 'fastify';
import type { ChannelDefinitions } from '../../core/channel.ts';
import { parseTimeZone, type QuietHours, quietSpanOf } from '../../core/quiet-hours.ts';
import type { Owner } from '../../usecases/ports/index.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { addRoute } from '../route.ts';
import { ownerOf } from '../signed-in.ts';
import { changeOwner } from './change-owner.ts';

export function addPreferenceRoutes(app: FastifyInstance, { definitions, store, service }: ConsoleApiDeps): void {
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
        quietHours: quietHours && canonicalQuietHours(definitions, quietHours),
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

/** The time zone in the spelling of Intl, a span or null for each channel, and no further members. */
function canonicalQuietHours(definitions: ChannelDefinitions, quietHours: QuietHours): QuietHours {
  const spans = definitions.map(({ name }) => {
    const span = quietSpanOf(quietHours, name);
    return [name, span && { from: span.from, to: span.to }];
  });
  const timeZone = parseTimeZone(quietHours.timeZone) ?? quietHours.timeZone;
  return { timeZone, ...Object.fromEntries(spans) };
}

function toPreferences({ name, emailAlerts, quietHours, retentionDays }: Owner): Preferences {
  return { name, emailAlerts, quietHours, retentionDays };
}
