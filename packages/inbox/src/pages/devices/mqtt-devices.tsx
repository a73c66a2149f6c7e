import type { DeviceWithSettings } from '@tocsin/contract/console';
import { deviceRoutes } from '@tocsin/contract/console/routes';
import { useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadProblem } from '../../components/load-problem.tsx';
import { text } from '../../text/index.ts';
import { ConnectDialog } from './connect-dialog.tsx';
import { DeviceRow } from './device-row.tsx';
import { NameDialog } from './name-dialog.tsx';

const words = text.devices;

export function MqttDevices() {
  const { value, error, reload } = useLoaded(deviceRoutes.listDevices);
  const [isCreating, setCreating] = useState(false);
  const [shown, setShown] = useState<DeviceWithSettings | null>(null);

  const show = async (made: DeviceWithSettings): Promise<void> => {
    setShown(made);
    await reload();
  };
  const create = async (name: string): Promise<void> => {
    const made = await call(deviceRoutes.createDevice, { body: { name } });
    setCreating(false);
    await show(made);
  };
  const addButton = (
    <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
      {words.create}
    </Button>
  );
  return (
    <section class="stack" aria-labelledby="devices-mqtt">
      <div class="row between">
        <div class="devices-lead">
          <h2 id="devices-mqtt">{words.mqttHeading}</h2>
          <p class="soft">{words.mqttLead}</p>
        </div>
        {value !== undefined && value.devices.length > 0 && addButton}
      </div>
      {error !== null && <LoadProblem error={error} onRetry={reload} />}
      {value?.devices.length === 0 && (
        <div class="card">
          <EmptyState icon="mqtt" title={words.noneTitle} level={3}>
            <p>{words.none}</p>
            {addButton}
          </EmptyState>
        </div>
      )}
      {value !== undefined && value.devices.length > 0 && (
        <ul class="devices-list">
          {value.devices.map((device) => (
            <DeviceRow key={device.id} device={device} onChange={reload} onNewPassword={show} />
          ))}
        </ul>
      )}
      {isCreating && (
        <NameDialog
          title={words.createTitle}
          name=""
          submit={words.createAction}
          onSubmit={create}
          onClose={() => setCreating(false)}
        />
      )}
      {shown !== null && <ConnectDialog made={shown} onClose={() => setShown(null)} />}
    </section>
  );
}
