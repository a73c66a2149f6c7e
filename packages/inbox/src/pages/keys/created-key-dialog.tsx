import type { CreatedKeyEntry } from '@tocsin/contract/console';
import { CopyButton } from '../../components/copy-button.tsx';
import { ShowOnceDialog } from '../../components/dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { KeyTest } from './key-test.tsx';
import { SnippetTabs } from './snippet-tabs.tsx';

const words = text.keys;

/** Shows the value of a new key, which cannot be shown again, and how to use it. */
export function CreatedKeyDialog({ created, onClose }: { created: CreatedKeyEntry; onClose: () => void }) {
  const { apiUrl } = useSession().service;
  const { label, requireSignature } = created.key;
  return (
    <ShowOnceDialog
      title={words.createdTitle}
      wide
      confirmTitle={words.closeTitle}
      confirm={words.closeMessage}
      done={words.done}
      onDone={onClose}
    >
      <Notice kind="warning">{words.valueOnce}</Notice>
      <div class="keys-value">
        <code>{created.value}</code>
        <CopyButton value={created.value} what={words.valueName} hasLabel />
      </div>
      <section class="stack">
        <h3>{words.snippetsHeading}</h3>
        <SnippetTabs snippetKey={{ apiUrl, value: created.value, requireSignature, label }} />
      </section>
      <KeyTest apiUrl={apiUrl} created={created} />
    </ShowOnceDialog>
  );
}
