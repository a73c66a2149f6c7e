// Whether the console can be reached: what the browser says of its network, and what became of the last request.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
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
  const status = useRef<HTMLDivElement>(null);
  useBannerHeight(status);
  return (
    <div ref={status} class="connection" role="status">
      {!isReachable && (
        <div class="offline-banner">
          <Icon name="offline" />
          <span>{text.common.offline}</span>
        </div>
      )}
    </div>
  );
}

/** Layouts that fill the window subtract --banner-height. It is measured, as the text may need two lines. */
function useBannerHeight(status: { current: HTMLElement | null }): void {
  useLayoutEffect(() => {
    const element = status.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      document.documentElement.style.setProperty('--banner-height', `${element.offsetHeight}px`);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [status]);
}
