import type { Preferences, QuietSpanEntry } from '@tocsin/contract/console';
import { useMemo } from 'preact/hooks';
import { fieldProblem, formProblem } from '../../api/problems.ts';
import { useAttempt } from '../../api/use-attempt.ts';
import { presentChannel } from '../../channels.ts';
import { SelectField, Switch, TextField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { useDraft, useUnsaved } from '../../unsaved.ts';
import type { SavePreferences } from './use-preferences.ts';

const words = text.settings.quietHours;
const night: QuietSpanEntry = { from: '22:00', to: '07:00' };

type QuietHours = NonNullable<Preferences['quietHours']>;

export function QuietHoursForm({ preferences, save }: { preferences: Preferences; save: SavePreferences }) {
  const { channels } = useSession().service;
  const names = channels.map(({ name }) => name);
  const none = useMemo(noQuietHours, []);
  const draft = useDraft<QuietHours>(preferences.quietHours ?? none);
  const hours = draft.value;
  useUnsaved(draft.isChanged);
  const { error, attempt, clearError } = useAttempt();
  const setHours = (changed: QuietHours): void => {
    draft.set(changed);
    clearError();
  };
  const store = async (): Promise<void> => {
    await save({ quietHours: hasQuietHours ? hours : null });
    draft.reset();
  };
  const hasQuietHours = names.some((channel) => spanOf(hours, channel) !== null);
  const problem = formProblem(
    error,
    names.map((channel) => `quietHours.${channel}`),
  );
  return (
    <Form class="stack settings-quiet" submit={words.save} kind="plain" onSubmit={() => attempt(store)}>
      <div>
        <h3>{words.title}</h3>
        <p class="soft small">{words.intro}</p>
      </div>
      {names.map((channel) => {
        const span = spanOf(hours, channel);
        const label = presentChannel(channel, channels).quietHoursLabel;
        return (
          <fieldset key={channel} class="settings-channel">
            <legend class="visually-hidden">{label}</legend>
            <Switch
              label={label}
              checked={span !== null}
              onChange={(isQuiet) => setHours({ ...hours, [channel]: isQuiet ? night : null })}
            />
            {span !== null && (
              <div class="settings-span">
                <TextField
                  label={words.from}
                  type="time"
                  value={span.from}
                  required
                  onInput={(from) => setHours({ ...hours, [channel]: { ...span, from } })}
                />
                <TextField
                  label={words.to}
                  type="time"
                  value={span.to}
                  required
                  onInput={(to) => setHours({ ...hours, [channel]: { ...span, to } })}
                />
              </div>
            )}
            {fieldProblem(error, `quietHours.${channel}`) && (
              <p class="settings-problem" role="alert">
                {fieldProblem(error, `quietHours.${channel}`)}
              </p>
            )}
          </fieldset>
        );
      })}
      {hasQuietHours && (
        <SelectField
          label={words.timeZone}
          value={hours.timeZone}
          options={zonesWith(hours.timeZone)}
          onChange={(timeZone) => setHours({ ...hours, timeZone })}
        />
      )}
      {problem !== null && <Notice kind="error">{problem}</Notice>}
    </Form>
  );
}

function noQuietHours(): QuietHours {
  return { timeZone: localZone() };
}

/** The members beside the time zone are the spans of channels. */
function spanOf(hours: QuietHours, channel: string): QuietSpanEntry | null {
  const span = hours[channel];
  return typeof span === 'object' ? span : null;
}

function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Adds UTC, which browsers omit from their list, and the saved zone, which may have another name in this browser. */
function zonesWith(present: string): { value: string; label: string }[] {
  const zones = new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', localZone(), present]);
  return [...zones].sort().map((zone) => ({ value: zone, label: zone.replaceAll('_', ' ') }));
}
