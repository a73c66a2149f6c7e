import type { PushTargetEntry } from '@tocsin/contract/console';
import { pushTargetRoutes } from '@tocsin/contract/console/routes';
import { useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import type { Loaded } from '../../api/use-loaded.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { LoadProblem } from '../../components/load-problem.tsx';
import { Ago } from '../../components/time.tsx';
import { showError, showToast } from '../../components/toast.tsx';
import { text } from '../../text/index.ts';
import { TestLine } from './test-line.tsx';
import { useTest } from './use-test.ts';

const words = text.devices;

interface PushTargetsProps {
  targets: Loaded<{ pushTargets: PushTargetEntry[] }>;
  onChange: () => Promise<void>;
}

export function PushTargets({ targets: { value, error, reload }, onChange }: PushTargetsProps) {
  return (
    <section class="stack" aria-labelledby="devices-push">
      <div>
        <h2 id="devices-push">{words.pushHeading}</h2>
        <p class="soft">{words.pushLead}</p>
      </div>
      {error !== null && <LoadProblem error={error} onRetry={reload} />}
      {value?.pushTargets.length === 0 && <p class="devices-none soft">{words.pushNone}</p>}
      {value !== undefined && value.pushTargets.length > 0 && (
        <ul class="devices-list">
          {value.pushTargets.map((target) => (
            <PushTargetRow key={target.id} target={target} onChange={onChange} />
          ))}
        </ul>
      )}
    </section>
  );
}

function PushTargetRow({ target, onChange }: { target: PushTargetEntry; onChange: () => Promise<void> }) {
  const [isConfirming, setConfirming] = useState(false);
  const test = useTest(pushTargetRoutes.testPushTarget, target.id, words.pushTest);
  const name = target.label ?? words.pushUnnamed;
  const isDisabled = target.disabledAt !== null;
  /** A failed test may have disabled the target, so the list is loaded again. */
  const sendTest = async (): Promise<void> => {
    if (!(await test.send())) await onChange();
  };
  const removeTarget = async (): Promise<void> => {
    try {
      await call(pushTargetRoutes.deletePushTarget, { params: { id: target.id } });
      showToast(words.removed(name));
      await onChange();
    } catch (error) {
      showError(error);
    }
    setConfirming(false);
  };
  return (
    <li class="card devices-item">
      <div class="devices-main">
        <Icon name={target.provider === 'webpush' ? 'globe' : 'device'} />
        <div class="grow">
          <h3>{name}</h3>
          <p class="devices-facts small soft">
            <span>{words.pushProviders[target.provider]}</span>
            <span>
              {words.pushEnabled} <Ago at={target.createdAt} />
            </span>
          </p>
        </div>
        {isDisabled && (
          <span class="badge warning">
            <Icon name="warning" />
            {words.pushDisabled}
          </span>
        )}
      </div>
      {isDisabled && <p class="small soft">{words.pushDisabledWhy}</p>}
      <div class="row">
        {!isDisabled && (
          <Button small icon="send" onClick={sendTest} aria-label={words.testOf(name)}>
            {words.sendTest}
          </Button>
        )}
        <Button small kind="quiet" icon="trash" aria-label={words.removePush(name)} onClick={() => setConfirming(true)}>
          {words.remove}
        </Button>
      </div>
      <TestLine outcome={test.outcome} />
      {isConfirming && (
        <ConfirmDialog
          title={words.removePushTitle(name)}
          message={words.removePushMessage}
          action={words.remove}
          onConfirm={removeTarget}
          onClose={() => setConfirming(false)}
        />
      )}
    </li>
  );
}
