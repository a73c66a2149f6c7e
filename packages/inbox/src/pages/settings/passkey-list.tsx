import type { PasskeyEntry } from '@tocsin/contract/console';
import { passkeyRoutes } from '@tocsin/contract/console/routes';
import { useState } from 'preact/hooks';
import { ApiError, call } from '../../api/client.ts';
import { useAttempt } from '../../api/use-attempt.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { Ago, fullTime } from '../../components/time.tsx';
import { showError } from '../../components/toast.tsx';
import { isCancelled, passkeyObstacle, registerPasskey } from '../../passkeys.ts';
import { describeBrowser } from '../../push/describe-browser.ts';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { EntryList } from './entry-list.tsx';
import { Block } from './section.tsx';

const words = text.settings.passkeys;

export function PasskeyList() {
  const { service, needsVerifiedPasskey, reload } = useSession();
  const passkeys = useLoaded(passkeyRoutes.listPasskeys);
  const [toDelete, setToDelete] = useState<PasskeyEntry | null>(null);
  const obstacle = passkeyObstacle(service.passkeys, location);
  if (obstacle !== null) return <Block title={words.title} intro={words[obstacle]} />;
  return (
    <Block title={words.title} intro={words.intro}>
      {needsVerifiedPasskey && <Notice kind="warning">{words.needVerified}</Notice>}
      <EntryList
        loaded={passkeys}
        entries={passkeys.value?.passkeys}
        icon="passkey"
        nameOf={({ name }) => name}
        detailOf={({ createdAt, usedAt }) => (
          <>
            {words.added(fullTime(createdAt))} {words.used} <Ago at={usedAt} />
          </>
        )}
        actionOf={(passkey) => (
          <Button
            kind="quiet"
            small
            icon="trash"
            label={words.delete(passkey.name)}
            onClick={() => setToDelete(passkey)}
          />
        )}
      />
      <AddPasskey
        onAdded={async () => {
          await Promise.all([passkeys.reload(), reload()]);
        }}
      />
      {toDelete !== null && (
        <ConfirmDialog
          title={words.deleteTitle(toDelete.name)}
          message={words.deleteMessage}
          action={text.common.delete}
          onClose={() => setToDelete(null)}
          onConfirm={async () => {
            await call(passkeyRoutes.deletePasskey, { params: { id: toDelete.id } }).catch(showError);
            setToDelete(null);
            await passkeys.reload();
          }}
        />
      )}
    </Block>
  );
}

function AddPasskey({ onAdded }: { onAdded: () => Promise<void> }) {
  const [name, setName] = useState(() => describeBrowser(navigator.userAgent));
  const { error, attempt } = useAttempt();
  const add = async (): Promise<void> => {
    await registerPasskey(name);
    await onAdded();
  };
  return (
    <>
      <Form class="settings-line long" submit={words.add} kind="plain" onSubmit={() => attempt(add)}>
        <TextField label={words.name} value={name} maxLength={100} required onInput={setName} />
      </Form>
      {error !== null && !isCancelled(error) && <Notice kind="error">{describeError(error)}</Notice>}
    </>
  );
}

function describeError(error: unknown): string {
  if (error instanceof DOMException && error.name === 'InvalidStateError') return words.exists;
  return error instanceof ApiError ? error.message : words.failed;
}
