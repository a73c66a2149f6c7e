import type { CreatedKeyEntry } from '@tocsin/contract/console';
import { CopyButton } from '../../components/copy-button.tsx';
import { OnceDialog } from '../../components/dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { KeyTest } from './key-test.tsx';
import { SnippetTabs } from './snippet-tabs.tsx';

const words = text.keys;

/** The value of a new key, this once, and how to use it. */
export function CreatedKeyDialog({ created, onClose }: { created: CreatedKeyEntry; onClose: () => void }) {
  const { apiUrl } = useSession().service;
  const { label, requireSignature } = created.key;
  return (
    <OnceDialog
      title={words.createdTitle}
      wide
      askTitle={words.closeTitle}
      ask={words.closeMessage}
      done={words.done}
      onDone={onClose}
    >
      <Notice kind="warning">{words.valueOnce}</Notice>
      <div class="keys-value">
        <code>{created.value}</code>
        <CopyButton value={created.value} what={words.valueName} wordy />
      </div>
      <section class="stack">
        <h3>{words.snippetsHeading}</h3>
        <SnippetTabs snippetKey={{ apiUrl, value: created.value, requireSignature, label }} />
      </section>
      <KeyTest apiUrl={apiUrl} created={created} />
    </OnceDialog>
  );
}
