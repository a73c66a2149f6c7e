// "Ring this device": Web Push on and off, how it rings, and a try.
import './ring-panel.css';
import type { TestResult } from '@tocsin/contract/console';
import { useEffect, useState } from 'preact/hooks';
import { post } from '../api/client.ts';
import { Button } from '../components/button.tsx';
import { Switch } from '../components/field.tsx';
import { Icon } from '../components/icon.tsx';
import { Notice } from '../components/notice.tsx';
import { showError, showToast } from '../components/toast.tsx';
import { useSession } from '../session.tsx';
import { text } from '../text/index.ts';
import { type DeviceSettings, deviceSettings, saveDeviceSettings } from './device-settings.ts';
import { RingFailed, type RingState, ringState, turnOff, turnOn } from './ring.ts';

const words = text.push;
const obstacles = {
  insecure: words.insecure,
  unsupported: words.unsupported,
  'home-screen': words.homeScreen,
  blocked: words.blocked,
};

/** `onChange`: the list of the owner's push targets is another now. */
export function RingPanel({ onChange }: { onChange?: () => void }) {
  const [state, setState] = useState<RingState | null>(null);
  const { service } = useSession();
  useEffect(() => {
    ringState().then(setState, showError);
  }, []);

  const change = async (work: () => Promise<RingState>, done: string): Promise<void> => {
    try {
      const next = await work();
      setState(next);
      if (next.kind === 'blocked') return;
      showToast(done);
      onChange?.();
    } catch (error) {
      if (error instanceof RingFailed) showToast(error.message);
      else showError(error);
    }
  };

  return (
    <section class="card ring-panel" aria-labelledby="ring-panel-title" aria-busy={state === null}>
      <div class="ring-panel-head">
        <span class={`ring-panel-bell ${state?.kind === 'on' ? 'on' : ''}`}>
          <Icon name="bell" />
        </span>
        <div class="grow">
          <div class="row">
            <h2 id="ring-panel-title">{words.title}</h2>
            {state?.kind === 'on' && <span class="badge good">{words.on}</span>}
            {state?.kind === 'off' && <span class="badge">{words.off}</span>}
          </div>
          <p class="soft small">{words.about}</p>
        </div>
        {state?.kind === 'off' && (
          <Button kind="primary" onClick={() => change(() => turnOn(service.webPushKey), words.enabled)}>
            {words.enable}
          </Button>
        )}
      </div>
      {state !== null && state.kind in obstacles && (
        <Notice kind={state.kind === 'blocked' ? 'warning' : 'info'}>
          {obstacles[state.kind as keyof typeof obstacles]}
        </Notice>
      )}
      {state?.kind === 'on' && (
        <RingingDevice
          targetId={state.targetId}
          onTurnOff={() => change(() => turnOff(state.targetId), words.disabled)}
        />
      )}
    </section>
  );
}

function RingingDevice({ targetId, onTurnOff }: { targetId: string; onTurnOff: () => Promise<void> }) {
  const [settings, setSettings] = useState<DeviceSettings | null>(null);
  useEffect(() => {
    deviceSettings().then(setSettings, showError);
  }, []);

  const choose = (isInfoSilent: boolean): void => {
    setSettings({ isInfoSilent });
    saveDeviceSettings({ isInfoSilent }).catch(showError);
  };

  const sendTest = async (): Promise<void> => {
    try {
      const { isSent, error } = await post<TestResult>(`/push-targets/${encodeURIComponent(targetId)}/test`);
      showToast(isSent ? words.testSent : words.testFailed(error ?? ''));
    } catch (error) {
      showError(error);
    }
  };

  return (
    <>
      <Switch
        label={words.silentInfo}
        hint={words.silentInfoHint}
        checked={settings?.isInfoSilent ?? false}
        disabled={settings === null}
        onChange={choose}
      />
      <div class="row">
        <Button icon="send" onClick={sendTest}>
          {words.sendTest}
        </Button>
        <Button kind="quiet" onClick={onTurnOff}>
          {words.disable}
        </Button>
      </div>
    </>
  );
}
