// Registers the service worker and handles its messages to this window.
import type { OpenRequest } from './push/open-request.ts';
import { navigate } from './router.tsx';

const address = '/sw.js';

/** The part that is used here. TypeScript's library does not declare it, and not all browsers have it. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}
const { trustedTypes } = window as { trustedTypes?: TrustedTypes };

// The Content-Security-Policy of the page allows only this Trusted Types policy, and the policy only this URL.
const policy = trustedTypes?.createPolicy('tocsin', {
  createScriptURL: (url) => {
    if (url !== address) throw new TypeError(`Not a script of ours: ${url}`);
    return url;
  },
});

export function registerServiceWorker(): void {
  // Missing on pages over plain HTTP and in some private windows.
  const { serviceWorker } = navigator;
  if (serviceWorker === undefined) return;
  serviceWorker.addEventListener('message', ({ data }: MessageEvent<OpenRequest>) => {
    if (data.kind === 'open') navigate(data.path);
  });
  // After load, so that it does not compete with the files of the page.
  addEventListener('load', () => {
    const url = policy?.createScriptURL(address) ?? address;
    // The inbox also works without it, but not offline.
    serviceWorker.register(url, { updateViaCache: 'none' }).catch(() => undefined);
  });
}
