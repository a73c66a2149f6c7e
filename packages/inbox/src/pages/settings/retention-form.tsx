import type { Preferences } from '@tocsin/contract/console';
import { useState } from 'preact/hooks';
import { fieldProblem, formProblem } from '../../api/problems.ts';
import { useAttempt } from '../../api/use-attempt.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { SelectField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { useDraft, useUnsaved } from '../../unsaved.ts';
import { retentionChoices } from './retention-choices.ts';
import type { SavePreferences } from './use-preferences.ts';

const words = text.settings.history;

export function RetentionForm({ preferences, save }: { preferences: Preferences; save: SavePreferences }) {
  const { service } = useSession();
  const present = preferences.retentionDays;
  const draft = useDraft(present);
  const days = draft.value;
  useUnsaved(draft.isChanged);
  const { error, attempt, clearError } = useAttempt();
  const [isConfirming, setConfirming] = useState(false);
  const store = async (): Promise<void> => {
    await attempt(async () => {
      await save({ retentionDays: days });
      draft.reset();
    });
    setConfirming(false);
  };
  const isShorter = days !== null && (present === null || days < present);
  return (
    <>
      <Form
        class="settings-line long"
        submit={text.common.save}
        kind="plain"
        disabled={days === present}
        onSubmit={isShorter ? async () => setConfirming(true) : store}
      >
        <SelectField
          label={words.keep}
          value={String(days)}
          options={retentionChoices(service.retentionDays, present).map((choice) => ({
            value: String(choice),
            label: choice === null ? words.serviceDefault(service.retentionDays) : words.days(choice),
          }))}
          hint={words.limit(service.retentionDays)}
          problem={fieldProblem(error, 'retentionDays') ?? formProblem(error, ['retentionDays'])}
          onChange={(value) => {
            draft.set(value === 'null' ? null : Number(value));
            clearError();
          }}
        />
      </Form>
      {isConfirming && days !== null && (
        <ConfirmDialog
          title={words.confirmTitle(days)}
          message={words.confirm(days)}
          action={words.confirmAction}
          onConfirm={store}
          onClose={() => setConfirming(false)}
        />
      )}
    </>
  );
}
