import { useEffect, useState } from 'preact/hooks';

/** A moment of today; renewed at midnight, and when somebody comes back to a page that was left open. */
export function useToday(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const renew = (): void => {
      if (new Date(now).toDateString() !== new Date().toDateString()) setNow(Date.now());
    };
    const timer = setInterval(renew, 60_000);
    document.addEventListener('visibilitychange', renew);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', renew);
    };
  }, [now]);
  return now;
}
