import type { DeviceEntry, DeviceWithSettings } from '@tocsin/contract/console';
import { deviceRoutes } from '@tocsin/contract/console/routes';
import { useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
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

type Status = 'active' | 'paused' | 'inactive';
const badges: Record<Status, { icon: IconName; badge: string }> = {
  active: { icon: 'check', badge: 'good' },
  paused: { icon: 'pause', badge: 'warning' },
  inactive: { icon: 'close', badge: '' },
};

/** The main action in each status. */
const mainActions = {
  active: { route: deviceRoutes.pauseDevice, action: words.pause, done: words.paused },
  paused: { route: deviceRoutes.resumeDevice, action: words.resume, done: words.resumed },
  inactive: { route: deviceRoutes.activateDevice, action: words.activate, done: words.activated },
};
type ActionRoute = (typeof mainActions)[Status]['route'] | typeof deviceRoutes.deactivateDevice;

interface DeviceRowProps {
  device: DeviceEntry;
  onChange: () => Promise<void>;
  onNewPassword: (made: DeviceWithSettings) => Promise<void>;
}

export function DeviceRow({ device, onChange, onNewPassword }: DeviceRowProps) {
  const [openDialog, setOpenDialog] = useState<'rename' | 'password' | 'delete' | null>(null);
  const [isOpen, setOpen] = useState(false);
  const params = { id: device.id };
  const test = useTest(deviceRoutes.testDevice, device.id, words.deviceTest);
  const { name } = device;
  const status: Status = device.state === 'inactive' ? 'inactive' : device.paused ? 'paused' : 'active';
  const close = (): void => setOpenDialog(null);

  const runAction = (route: ActionRoute, done: string) => async (): Promise<void> => {
    try {
      await call(route, { params });
      await onChange();
      test.show({ isGood: true, message: done });
    } catch (error) {
      showError(error);
    }
  };
  const deleteDevice = async (): Promise<void> => {
    try {
      await call(deviceRoutes.deleteDevice, { params });
      showToast(words.deleted(name));
      await onChange();
    } catch (error) {
      showError(error);
      close();
    }
  };
  const rename = async (wanted: string): Promise<void> => {
    const renamed = await call(deviceRoutes.renameDevice, { params, body: { name: wanted } });
    close();
    await onChange();
    test.show({ isGood: true, message: words.renamed(renamed.name) });
  };
  const renewPassword = async (): Promise<void> => {
    try {
      const made = await call(deviceRoutes.renewPassword, { params });
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
        <span class={`badge ${badges[status].badge}`} title={words.stateHints[status]}>
          <Icon name={badges[status].icon} />
          {words.states[status]}
        </span>
      </div>
      <div class="devices-topic small">
        <span class="soft">{words.topic}</span>
        <code>{device.topic}</code>
        <CopyButton value={device.topic} what={words.topicOf(name)} />
      </div>
      <div class="row">
        {status === 'active' && <RowButton icon="send" action={words.sendTest} name={name} onClick={test.send} />}
        {/* One button in every status, so that it keeps the focus. */}
        <RowButton
          icon={status === 'active' ? 'pause' : 'play'}
          action={mainActions[status].action}
          name={name}
          onClick={runAction(mainActions[status].route, mainActions[status].done(name))}
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
          <RowButton icon="edit" action={words.rename} name={name} onClick={() => setOpenDialog('rename')} />
          <RowButton icon="key" action={words.newPassword} name={name} onClick={() => setOpenDialog('password')} />
          {status !== 'inactive' && (
            <RowButton
              icon="close"
              action={words.deactivate}
              name={name}
              onClick={runAction(deviceRoutes.deactivateDevice, words.deactivated(name))}
            />
          )}
          <RowButton icon="trash" action={words.delete} name={name} danger onClick={() => setOpenDialog('delete')} />
        </div>
      )}
      <TestLine outcome={test.outcome} />
      {openDialog === 'rename' && (
        <NameDialog
          title={words.renameTitle(name)}
          name={name}
          submit={words.rename}
          onSubmit={rename}
          onClose={close}
        />
      )}
      {openDialog === 'password' && (
        <ConfirmDialog
          title={words.newPasswordTitle(name)}
          message={words.newPasswordMessage}
          action={words.newPasswordAction}
          onConfirm={renewPassword}
          onClose={close}
        />
      )}
      {openDialog === 'delete' && (
        <ConfirmDialog
          title={words.deleteTitle(name)}
          message={words.deleteMessage}
          action={words.delete}
          onConfirm={deleteDevice}
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

/** Its accessible name includes the device, because the page has the same button for every device. */
function RowButton(props: { icon: IconName; action: string; name: string; danger?: boolean; onClick: () => unknown }) {
  const { icon, action, name, danger = false, onClick } = props;
  return (
    <Button small icon={icon} danger={danger} aria-label={words.actionOf(action, name)} onClick={onClick}>
      {action}
    </Button>
  );
}
