export const push = {
  title: 'Push in this browser',
  about: 'This browser shows notifications even while the inbox is closed. No further account is needed.',
  on: 'On',
  off: 'Off',
  enable: 'Enable',
  disable: 'Disable',
  enabled: 'Push notifications are enabled in this browser.',
  disabled: 'Push notifications are disabled in this browser.',
  sendTest: 'Send a test',
  testSent: 'Sent. It should appear in a moment.',
  testFailed: (why: string) => `The test was not sent. ${why}`,
  silentInfo: 'Silent for info',
  silentInfoHint: 'Notifications of severity info, and promotions without a severity, appear without a sound.',
  blocked: 'This browser blocks notifications from this site. Allow them in the site settings, then reload the page.',
  denied: 'This browser was not given permission to show notifications, so push stays off.',
  insecure: 'Browsers allow push only over HTTPS, or on localhost. Open the inbox over HTTPS to enable it.',
  unsupported:
    'This browser does not support push notifications. Current versions of Chrome, Edge, Firefox and Safari do.',
  homeScreen:
    'On an iPhone or iPad, add the inbox to the Home Screen first: Share, then “Add to Home Screen”. Open it from there and enable push.',
  failed: 'The push service of this browser did not respond. Check the network, then try again.',
  /** The default name of a push target in the list of devices. */
  deviceName: (browser: string | null, system: string | null) => {
    if (browser !== null && system !== null) return `${browser} on ${system}`;
    return browser ?? system ?? 'A browser';
  },
  /** Shown by the service worker for a push message that it cannot parse. */
  unreadable: { title: 'Tocsin', body: 'A notification arrived. Open the inbox to read it.' },
};
