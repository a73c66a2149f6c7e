// Whether the console can be reached: what the browser says of its network, and what became of the last request.
import { useEffect, useState } from 'preact/hooks';
import { get, onReachable } from '../api/client.ts';
import { Icon } from '../components/icon.tsx';
import { text } from '../text/index.ts';

const askAgainMs = 10_000;

function useIsReachable(): boolean {
  const [isReachable, setReachable] = useState(navigator.onLine);
  useEffect(() => {
    onReachable(setReachable);
    const lost = (): void => setReachable(false);
    // A network is not yet a way to the console: ask.
    addEventListener('online', ask);
    addEventListener('offline', lost);
    return () => {
      onReachable(() => undefined);
      removeEventListener('online', ask);
      removeEventListener('offline', lost);
    };
  }, []);
  useEffect(() => {
    if (isReachable) return;
    const timer = setInterval(ask, askAgainMs);
    return () => clearInterval(timer);
  }, [isReachable]);
  return isReachable;
}

function ask(): void {
  // The answer itself reports that there is one.
  get('/session').catch(() => undefined);
}

export function OfflineBanner() {
  const isReachable = useIsReachable();
  return (
    <div role="status">
      {!isReachable && (
        <div class="offline-banner">
          <Icon name="offline" />
          {text.common.offline}
        </div>
      )}
    </div>
  );
}
