import type { CreatedKeyEntry } from '@tocsin/contract/console';
import { keyRoutes } from '@tocsin/contract/console/routes';
import { keyLimits, keyProblems } from '@tocsin/contract/key-fields';
import { notifyKeyTypes } from '@tocsin/contract/keys';
import { useState } from 'preact/hooks';
import { ApiError, call } from '../../api/client.ts';
import { fieldProblem, formProblem } from '../../api/problems.ts';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField, Switch, TextArea, TextField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { text } from '../../text/index.ts';
import { emptyKeyForm, expiryChoices, findInvalidDomain, type KeyForm, rateUnits, readKeyForm } from './key-form.ts';

const words = text.keys;
const fields = ['label', 'type', 'allowedDomains', 'expiresAt', 'requireSignature', 'rateLimit'];

interface NewKeyDialogProps {
  onCreated: (made: CreatedKeyEntry) => Promise<void>;
  onClose: () => void;
}

export function NewKeyDialog({ onCreated, onClose }: NewKeyDialogProps) {
  const [form, setForm] = useState<KeyForm>(emptyKeyForm);
  const [error, setError] = useState<unknown>(null);
  const set = (change: Partial<KeyForm>): void => setForm((present) => ({ ...present, ...change }));
  const create = async (): Promise<void> => {
    const now = Date.now();
    const key = readKeyForm(form, now);
    const problems = keyProblems(key, { now });
    if (problems.length > 0) return setError(new ApiError('invalid_body', text.common.failed, problems));
    try {
      await onCreated(await call(keyRoutes.createKey, { body: key }));
    } catch (problem) {
      setError(problem);
    }
  };
  const general = formProblem(error, fields);
  const domainsProblem = fieldProblem(error, 'allowedDomains');
  const invalidDomain = findInvalidDomain(form);
  return (
    <Dialog title={words.createTitle} onClose={onClose}>
      <Form submit={words.createAction} onSubmit={create}>
        <TextField
          label={words.label}
          hint={words.labelHint}
          problem={fieldProblem(error, 'label')}
          value={form.label}
          autoFocus
          autoComplete="off"
          maxLength={keyLimits.labelCharacters}
          onInput={(label) => set({ label })}
        />
        <SelectField
          label={words.type}
          hint={words.typeHints[form.type]}
          problem={fieldProblem(error, 'type')}
          value={form.type}
          options={notifyKeyTypes.map((value) => ({ value, label: words.types[value] }))}
          onChange={(type) => set({ type })}
        />
        <TextArea
          label={words.allowedDomains}
          hint={words.allowedDomainsHint}
          problem={domainsProblem && (invalidDomain === null ? domainsProblem : words.notADomain(invalidDomain))}
          value={form.domains}
          rows={2}
          autocomplete="off"
          spellcheck={false}
          onInput={(domains) => {
            set({ domains });
            if (domainsProblem !== null) setError(null);
          }}
        />
        <SelectField
          label={words.expiry}
          problem={form.expiry === 'date' ? null : fieldProblem(error, 'expiresAt')}
          value={form.expiry}
          options={expiryChoices.map((value) => ({ value, label: words.expiries[value] }))}
          onChange={(expiry) => set({ expiry })}
        />
        {form.expiry === 'date' && (
          <TextField
            label={words.expiresAt}
            problem={fieldProblem(error, 'expiresAt') && words.expiresAtWrong}
            type="datetime-local"
            value={form.expiresAt}
            onInput={(expiresAt) => set({ expiresAt })}
          />
        )}
        <div class="keys-rate">
          <TextField
            label={words.rateLimit}
            hint={words.rateLimitHint}
            problem={fieldProblem(error, 'rateLimit') && words.rateLimitWrong}
            type="number"
            min="1"
            value={form.rateCount}
            onInput={(rateCount) => set({ rateCount })}
          />
          <SelectField
            label={words.rateLimitPer}
            value={form.rateUnit}
            options={rateUnits.map((value) => ({ value, label: words.units[value] }))}
            onChange={(rateUnit) => set({ rateUnit })}
          />
        </div>
        <Switch
          label={words.requireSignature}
          hint={words.requireSignatureHint}
          checked={form.requireSignature}
          onChange={(requireSignature) => set({ requireSignature })}
        />
        {general !== null && <Notice kind="error">{general}</Notice>}
      </Form>
    </Dialog>
  );
}
