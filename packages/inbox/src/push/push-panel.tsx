// Enables and disables Web Push in this browser, with its settings and a test.
import { pushTargetRoutes } from '@tocsin/contract/console/routes';
import './push-panel.css';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { Button } from '../components/button.tsx';
import { Switch } from '../components/field.tsx';
import { Icon } from '../components/icon.tsx';
import { Notice } from '../components/notice.tsx';
import { showError, showToast } from '../components/toast.tsx';
import { useSession } from '../session.tsx';
import { text } from '../text/index.ts';
import { type BrowserSettings, loadBrowserSettings, saveBrowserSettings } from './browser-settings.ts';
import { type PushState, pushState, SubscribeFailed, subscribe, unsubscribe } from './push-subscription.ts';

const words = text.push;
const obstacles = {
  insecure: words.insecure,
  unsupported: words.unsupported,
  'home-screen': words.homeScreen,
  blocked: words.blocked,
};

/** `onChange` is called when the list of the owner's push targets has changed. */
export function PushPanel({ onChange }: { onChange?: () => void }) {
  const [state, setState] = useState<PushState | null>(null);
  const { service } = useSession();
  useEffect(() => {
    pushState().then(setState, showError);
  }, []);

  const change = async (work: () => Promise<PushState>, done: string): Promise<void> => {
    try {
      const next = await work();
      setState(next);
      if (next.kind === 'blocked') return;
      showToast(done);
      onChange?.();
    } catch (error) {
      if (error instanceof SubscribeFailed) showToast(error.message);
      else showError(error);
    }
  };

  return (
    <section class="card push-panel" aria-labelledby="push-panel-title" aria-busy={state === null}>
      <div class="push-panel-head">
        <span class={`push-panel-bell ${state?.kind === 'on' ? 'on' : ''}`}>
          <Icon name="bell" />
        </span>
        <div class="grow">
          <div class="row">
            <h2 id="push-panel-title">{words.title}</h2>
            {state?.kind === 'on' && <span class="badge good">{words.on}</span>}
            {state?.kind === 'off' && <span class="badge">{words.off}</span>}
          </div>
          <p class="soft small">{words.about}</p>
        </div>
        {state?.kind === 'off' && (
          <Button kind="primary" onClick={() => change(() => subscribe(service.webPushKey), words.enabled)}>
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
        <SubscribedDevice
          targetId={state.targetId}
          onUnsubscribe={() => change(() => unsubscribe(state.targetId), words.disabled)}
        />
      )}
    </section>
  );
}

function SubscribedDevice({ targetId, onUnsubscribe }: { targetId: string; onUnsubscribe: () => Promise<void> }) {
  const [settings, setSettings] = useState<BrowserSettings | null>(null);
  useEffect(() => {
    loadBrowserSettings().then(setSettings, showError);
  }, []);

  const choose = (isInfoSilent: boolean): void => {
    setSettings({ isInfoSilent });
    saveBrowserSettings({ isInfoSilent }).catch(showError);
  };

  const sendTest = async (): Promise<void> => {
    try {
      const { isSent, error } = await call(pushTargetRoutes.testPushTarget, { params: { id: targetId } });
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
        <Button kind="quiet" onClick={onUnsubscribe}>
          {words.disable}
        </Button>
      </div>
    </>
  );
}
