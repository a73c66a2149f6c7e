// Whether the console is reachable, by the network state of the browser and the result of the last request.
import { signInRoutes } from '@tocsin/contract/console/routes';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { call, onReachable } from '../api/client.ts';
import { Icon } from '../components/icon.tsx';
import { text } from '../text/index.ts';

const probeIntervalMs = 10_000;

function useIsReachable(): boolean {
  const [isReachable, setReachable] = useState(navigator.onLine);
  useEffect(() => {
    onReachable(setReachable);
    const lost = (): void => setReachable(false);
    // A network alone does not mean that the console is reachable, so probe it.
    addEventListener('online', probe);
    addEventListener('offline', lost);
    return () => {
      onReachable(() => undefined);
      removeEventListener('online', probe);
      removeEventListener('offline', lost);
    };
  }, []);
  useEffect(() => {
    if (isReachable) return;
    const timer = setInterval(probe, probeIntervalMs);
    return () => clearInterval(timer);
  }, [isReachable]);
  return isReachable;
}

function probe(): void {
  // The client reports the result to `onReachable`.
  call(signInRoutes.getSession).catch(() => undefined);
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
