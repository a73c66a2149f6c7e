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
  const id = useId();
  return (
    <Field id={id} label={label} hint={hint} problem={problem}>
      <input
        id={id}
        class="input"
        onInput={(event) => onInput(event.currentTarget.value)}
        {...described(id, hint, problem)}
        {...rest}
      />
    </Field>
  );
}

type AreaProps = Omit<JSX.IntrinsicElements['textarea'], 'label' | 'onInput'> &
  FieldProps & { onInput: (value: string) => void };

export function TextArea({ label, hint, problem, onInput, ...rest }: AreaProps) {
  const id = useId();
  return (
    <Field id={id} label={label} hint={hint} problem={problem}>
      <textarea
        id={id}
        class="input"
        onInput={(event) => onInput(event.currentTarget.value)}
        {...described(id, hint, problem)}
        {...rest}
      />
    </Field>
  );
}

type SelectProps<Value extends string> = FieldProps & {
  value: Value;
  options: readonly { value: Value; label: string }[];
  onChange: (value: Value) => void;
};

export function SelectField<Value extends string>({
  label,
  hint,
  problem,
  value,
  options,
  onChange,
}: SelectProps<Value>) {
  const id = useId();
  return (
    <Field id={id} label={label} hint={hint} problem={problem}>
      <select
        id={id}
        class="input"
        value={value}
        onChange={(event) => onChange(event.currentTarget.value as Value)}
        {...described(id, hint, problem)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
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

function Field({ id, label, hint, problem, children }: FieldProps & { id: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
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

function described(id: string, hint: ComponentChildren, problem: string | null | undefined) {
  const parts = [hint !== undefined && `${id}-hint`, problem && `${id}-problem`].filter(Boolean);
  return {
    ...(parts.length > 0 && { 'aria-describedby': parts.join(' ') }),
    ...(problem && { 'aria-invalid': 'true' as const }),
  };
}
