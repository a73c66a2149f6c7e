import { useState } from 'preact/hooks';
import { text } from '../text/index.ts';
import { Button } from './button.tsx';
import { showError } from './toast.tsx';

interface CopyButtonProps {
  /** A function if the value is expensive to compute; it is called on click. */
  value: string | (() => string);
  /** What is copied, for the accessible name. */
  what: string;
  /** Shows the label next to the icon. */
  hasLabel?: boolean;
}

export function CopyButton({ value, what, hasLabel = false }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await writeClipboard(typeof value === 'function' ? value() : value);
      setCopied(true);
      setTimeout(setCopied, 2000, false);
    } catch (error) {
      showError(error);
    }
  };
  const label = isCopied ? text.common.copied : text.common.copyOf(what);
  return (
    <span class="copy">
      <Button kind={hasLabel ? 'plain' : 'quiet'} small icon={isCopied ? 'check' : 'copy'} label={label} onClick={copy}>
        {hasLabel ? label : undefined}
      </Button>
      <span class="visually-hidden" role="status">
        {isCopied ? text.common.copied : ''}
      </span>
    </span>
  );
}

/** Falls back to execCommand, because the Clipboard API is missing on plain HTTP, such as http://192.168.… */
async function writeClipboard(value: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(value);
  const area = document.createElement('textarea');
  area.value = value;
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  if (!isDone) throw new Error('The browser did not copy.');
}
