import { useEffect, useState } from 'preact/hooks';

/** A timestamp of the current day, updated after midnight and when the page becomes visible again. */
export function useToday(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const update = (): void => {
      if (new Date(now).toDateString() !== new Date().toDateString()) setNow(Date.now());
    };
    const timer = setInterval(update, 60_000);
    document.addEventListener('visibilitychange', update);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', update);
    };
  }, [now]);
  return now;
}
