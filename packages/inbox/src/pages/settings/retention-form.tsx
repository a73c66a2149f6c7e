import type { Preferences } from '@tocsin/contract/console';
import { useEffect, useState } from 'preact/hooks';
import { problemBeside, problemOf } from '../../api/problems.ts';
import { useAttempt } from '../../api/use-attempt.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { SelectField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { retentionChoices } from './retention-choices.ts';
import type { SavePreferences } from './use-preferences.ts';

const words = text.settings.history;

export function RetentionForm({ preferences, save }: { preferences: Preferences; save: SavePreferences }) {
  const { service } = useSession();
  const present = preferences.retentionDays;
  const [days, setDays] = useState(present);
  const { error, attempt } = useAttempt();
  const [isAsking, setAsking] = useState(false);
  useEffect(() => setDays(present), [present]);
  const store = async (): Promise<void> => {
    await attempt(() => save({ retentionDays: days }));
    setAsking(false);
  };
  const isShorter = days !== null && (present === null || days < present);
  return (
    <>
      <Form
        class="settings-line long"
        submit={text.common.save}
        kind="plain"
        disabled={days === present}
        onSubmit={isShorter ? async () => setAsking(true) : store}
      >
        <SelectField
          label={words.keep}
          value={String(days)}
          options={retentionChoices(service.retentionDays, present).map((choice) => ({
            value: String(choice),
            label: choice === null ? words.asService(service.retentionDays) : words.days(choice),
          }))}
          hint={words.limit(service.retentionDays)}
          problem={problemOf(error, 'retentionDays') ?? problemBeside(error, ['retentionDays'])}
          onChange={(value) => setDays(value === 'null' ? null : Number(value))}
        />
      </Form>
      {isAsking && days !== null && (
        <ConfirmDialog
          title={words.confirmTitle(days)}
          message={words.confirm(days)}
          action={words.confirmAction}
          onConfirm={store}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}
