// Puts the service worker in place, and does what it asks of this window.
import type { OpenRequest } from './push/open-request.ts';
import { navigate } from './router.tsx';

const address = '/sw.js';

/** As far as we use it; TypeScript's library does not have it, nor do all browsers. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}
const { trustedTypes } = window as { trustedTypes?: TrustedTypes };

// The policy of the page lets nothing but this name become a script, and this policy nothing but one address.
const policy = trustedTypes?.createPolicy('tocsin', {
  createScriptURL: (url) => {
    if (url !== address) throw new TypeError(`Not a script of ours: ${url}`);
    return url;
  },
});

export function registerServiceWorker(): void {
  // Absent on pages over plain http, and in some private windows.
  const { serviceWorker } = navigator;
  if (serviceWorker === undefined) return;
  serviceWorker.addEventListener('message', ({ data }: MessageEvent<OpenRequest>) => {
    if (data.kind === 'open') navigate(data.path);
  });
  // After everything that the page itself needs.
  addEventListener('load', () => {
    const url = policy?.createScriptURL(address) ?? address;
    // Without it the inbox works all the same, but not offline.
    serviceWorker.register(url, { updateViaCache: 'none' }).catch(() => undefined);
  });
}
