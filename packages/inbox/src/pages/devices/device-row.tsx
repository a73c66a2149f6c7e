import type { DeviceEntry, DeviceWithSettings } from '@tocsin/contract/console';
import { useState } from 'preact/hooks';
import { post, remove } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Icon, type IconName } from '../../components/icon.tsx';
import { Ago } from '../../components/time.tsx';
import { showError, showToast } from '../../components/toast.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { NameDialog } from './name-dialog.tsx';
import { TestLine } from './test-line.tsx';
import { useTest } from './use-test.ts';

const words = text.devices;

type Condition = 'active' | 'paused' | 'inactive';
const looks: Record<Condition, { icon: IconName; badge: string }> = {
  active: { icon: 'check', badge: 'good' },
  paused: { icon: 'pause', badge: 'warning' },
  inactive: { icon: 'close', badge: '' },
};

/** What the button does that changes the condition. */
const turns = {
  active: { verb: 'pause', action: words.pause, done: words.paused },
  paused: { verb: 'resume', action: words.resume, done: words.resumed },
  inactive: { verb: 'activate', action: words.activate, done: words.activated },
};

interface DeviceRowProps {
  device: DeviceEntry;
  onChange: () => Promise<void>;
  onNewPassword: (made: DeviceWithSettings) => Promise<void>;
}

export function DeviceRow({ device, onChange, onNewPassword }: DeviceRowProps) {
  const [asked, setAsked] = useState<'rename' | 'password' | 'delete' | null>(null);
  const [isOpen, setOpen] = useState(false);
  const path = `/devices/${device.id}`;
  const test = useTest(`${path}/test`, words.deviceTest);
  const { name } = device;
  const condition: Condition = device.state === 'inactive' ? 'inactive' : device.paused ? 'paused' : 'active';
  const close = (): void => setAsked(null);

  const turn = (verb: string, done: string) => async (): Promise<void> => {
    try {
      await post(`${path}/${verb}`);
      await onChange();
      test.show({ isGood: true, message: done });
    } catch (error) {
      showError(error);
    }
  };
  const deleteIt = async (): Promise<void> => {
    try {
      await remove(path);
      showToast(words.deleted(name));
      await onChange();
    } catch (error) {
      showError(error);
      close();
    }
  };
  const rename = async (wanted: string): Promise<void> => {
    const renamed = await post<DeviceEntry>(`${path}/rename`, { name: wanted });
    close();
    await onChange();
    test.show({ isGood: true, message: words.renamed(renamed.name) });
  };
  const renewPassword = async (): Promise<void> => {
    try {
      const made = await post<DeviceWithSettings>(`${path}/password`);
      close();
      await onNewPassword(made);
    } catch (error) {
      showError(error);
    }
  };

  return (
    <li class="card devices-item">
      <div class="devices-main">
        <Icon name="device" />
        <div class="grow">
          <h3>{name}</h3>
          <DeviceFacts device={device} />
        </div>
        <span class={`badge ${looks[condition].badge}`} title={words.stateHints[condition]}>
          <Icon name={looks[condition].icon} />
          {words.states[condition]}
        </span>
      </div>
      <div class="row">
        {condition === 'active' && <RowButton icon="send" action={words.sendTest} name={name} onClick={test.send} />}
        {/* One button in every condition, so that it keeps the focus. */}
        <RowButton
          icon={condition === 'active' ? 'pause' : 'play'}
          action={turns[condition].action}
          name={name}
          onClick={turn(turns[condition].verb, turns[condition].done(name))}
        />
        <Button
          small
          kind="quiet"
          icon="more"
          label={words.more(name)}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        />
      </div>
      {isOpen && (
        <div class="row">
          <RowButton icon="edit" action={words.rename} name={name} onClick={() => setAsked('rename')} />
          <RowButton icon="key" action={words.newPassword} name={name} onClick={() => setAsked('password')} />
          {condition !== 'inactive' && (
            <RowButton
              icon="close"
              action={words.deactivate}
              name={name}
              onClick={turn('deactivate', words.deactivated(name))}
            />
          )}
          <RowButton icon="trash" action={words.delete} name={name} danger onClick={() => setAsked('delete')} />
        </div>
      )}
      <TestLine outcome={test.outcome} />
      {asked === 'rename' && (
        <NameDialog
          title={words.renameTitle(name)}
          name={name}
          submit={words.rename}
          onSubmit={rename}
          onClose={close}
        />
      )}
      {asked === 'password' && (
        <ConfirmDialog
          title={words.newPasswordTitle(name)}
          message={words.newPasswordMessage}
          action={words.newPasswordAction}
          onConfirm={renewPassword}
          onClose={close}
        />
      )}
      {asked === 'delete' && (
        <ConfirmDialog
          title={words.deleteTitle(name)}
          message={words.deleteMessage}
          action={words.delete}
          onConfirm={deleteIt}
          onClose={close}
        />
      )}
    </li>
  );
}

function DeviceFacts({ device: { createdAt, seenAt } }: { device: DeviceEntry }) {
  const { knowsLastSeen } = useSession().service;
  return (
    <p class="devices-facts small soft">
      {knowsLastSeen && (
        <span>
          {seenAt === null ? (
            words.neverSeen
          ) : (
            <>
              {words.lastSeen} <Ago at={seenAt} />
            </>
          )}
        </span>
      )}
      <span>
        {words.added} <Ago at={createdAt} />
      </span>
    </p>
  );
}

/** Says in its name which device it is for: there are many alike on the page. */
function RowButton(props: { icon: IconName; action: string; name: string; danger?: boolean; onClick: () => unknown }) {
  const { icon, action, name, danger = false, onClick } = props;
  return (
    <Button small icon={icon} danger={danger} aria-label={words.actionOf(action, name)} onClick={onClick}>
      {action}
    </Button>
  );
}
