import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  problem?: string | null | undefined;
}

interface InputProps extends FieldProps {
  value: string;
  type?: 'text' | 'email' | 'number' | 'time' | 'datetime-local' | 'search';
  placeholder?: string;
  required?: boolean;
  autoFocus?: boolean;
  autoComplete?: string;
  maxLength?: number;
  min?: string;
  max?: string;
  list?: string;
  onInput: (value: string) => void;
}

export function TextField({ label, hint, problem, onInput, ...rest }: InputProps) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(shared) => <input {...shared} onInput={(event) => onInput(event.currentTarget.value)} {...rest} />}
    </Field>
  );
}

type AreaProps = Omit<JSX.IntrinsicElements['textarea'], 'label' | 'onInput'> &
  FieldProps & { onInput: (value: string) => void };

export function TextArea({ label, hint, problem, onInput, ...rest }: AreaProps) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(shared) => <textarea {...shared} onInput={(event) => onInput(event.currentTarget.value)} {...rest} />}
    </Field>
  );
}

type SelectProps<Value extends string> = FieldProps & {
  value: Value;
  options: readonly { value: Value; label: string }[];
  onChange: (value: Value) => void;
};

export function SelectField<Value extends string>({ value, options, onChange, ...field }: SelectProps<Value>) {
  return (
    <Field {...field}>
      {(shared) => (
        <select {...shared} value={value} onChange={(event) => onChange(event.currentTarget.value as Value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Switch(props: {
  label: string;
  hint?: string;
  checked: boolean;
  disabled?: boolean;
  onChange: (on: boolean) => void;
}) {
  const { label, hint, checked, disabled = false, onChange } = props;
  return (
    <label class="switch">
      <input
        type="checkbox"
        role="switch"
        checked={checked}
        aria-checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>
        {label}
        {hint !== undefined && <span class="hint"> {hint}</span>}
      </span>
    </label>
  );
}

interface SharedProps {
  id: string;
  class: string;
  'aria-describedby'?: string;
  'aria-invalid'?: 'true';
}

/** Label, hint and error around a control, linked to it by ARIA attributes. */
function Field({
  label,
  hint,
  problem,
  children,
}: FieldProps & { children: (shared: SharedProps) => ComponentChildren }) {
  const id = useId();
  const described = [hint !== undefined && `${id}-hint`, problem && `${id}-problem`].filter(Boolean);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        class: 'input',
        ...(described.length > 0 && { 'aria-describedby': described.join(' ') }),
        ...(problem && { 'aria-invalid': 'true' }),
      })}
      {hint !== undefined && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {problem && (
        <span class="problem" id={`${id}-problem`} role="alert">
          {problem}
        </span>
      )}
    </div>
  );
}
