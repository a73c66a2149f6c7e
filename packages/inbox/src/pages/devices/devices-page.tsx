import './devices.css';
import type { PushTargetEntry } from '@tocsin/contract/console';
import { useState } from 'preact/hooks';
import { useLoaded } from '../../api/use-loaded.ts';
import { PageHead } from '../../components/page-head.tsx';
import { RingPanel } from '../../push/ring-panel.tsx';
import { text } from '../../text/index.ts';
import { MqttDevices } from './mqtt-devices.tsx';
import { PushTargets } from './push-targets.tsx';

export function DevicesPage() {
  const targets = useLoaded<{ pushTargets: PushTargetEntry[] }>('/push-targets');
  const [changes, setChanges] = useState(0);
  const reloadAll = async (): Promise<void> => {
    await targets.reload();
    setChanges((count) => count + 1);
  };
  return (
    <div class="page devices">
      <PageHead title={text.devices.title} lead={text.devices.lead} />
      <div class="devices-sections">
        {/* Looks anew whether this browser rings: it may be the one that was removed from the list. */}
        <RingPanel key={changes} onChange={targets.reload} />
        <PushTargets targets={targets} onChange={reloadAll} />
        <MqttDevices />
      </div>
    </div>
  );
}
