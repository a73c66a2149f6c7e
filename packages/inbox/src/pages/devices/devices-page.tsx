import { pushTargetRoutes } from '@tocsin/contract/console/routes';
import './devices.css';
import { useState } from 'preact/hooks';
import { useLoaded } from '../../api/use-loaded.ts';
import { PageHead } from '../../components/page-head.tsx';
import { PushPanel } from '../../push/push-panel.tsx';
import { text } from '../../text/index.ts';
import { MqttDevices } from './mqtt-devices.tsx';
import { PushTargets } from './push-targets.tsx';

export function DevicesPage() {
  const targets = useLoaded(pushTargetRoutes.listPushTargets);
  const [changes, setChanges] = useState(0);
  const reloadAll = async (): Promise<void> => {
    await targets.reload();
    setChanges((count) => count + 1);
  };
  return (
    <div class="page devices">
      <PageHead title={text.devices.title} lead={text.devices.lead} />
      <div class="devices-sections">
        {/* The new key remounts the panel: this browser may be the one that was removed from the list. */}
        <PushPanel key={changes} onChange={targets.reload} />
        <PushTargets targets={targets} onChange={reloadAll} />
        <MqttDevices />
      </div>
    </div>
  );
}
