export const ring = {
  title: 'Ring this device',
  about: 'Notifications appear on this device even while the inbox is closed. No account with anybody is needed.',
  on: 'On',
  off: 'Off',
  turnOn: 'Ring this device',
  turnOff: 'Stop ringing',
  turnedOn: 'This device rings from now on.',
  turnedOff: 'This device does not ring any more.',
  sendTest: 'Send a test',
  testSent: 'Sent. It should appear in a moment.',
  testFailed: (why: string) => `The test was not sent. ${why}`,
  silentInfo: 'Silent for info',
  silentInfoHint: 'Notifications of severity info, and advertising, appear without a sound.',
  blocked:
    'This browser blocks notifications from this page. Allow them in the settings of the page, beside the address, then reload.',
  denied: 'The browser was not allowed to show notifications, so this device does not ring.',
  insecure:
    'Browsers ring only for pages that they reached over https, or on the machine itself as localhost. Open the inbox over https to turn this on.',
  unsupported: 'This browser cannot be rung. Current versions of Chrome, Edge, Firefox and Safari can.',
  homeScreen:
    'On an iPhone or iPad, add the inbox to the Home Screen first: Share, then “Add to Home Screen”. Open it from there and turn this on.',
  failed: 'The push service of this browser did not answer. Check the network, then try again.',
  /** What a target is called in the list. */
  deviceName: (browser: string | null, system: string | null) => {
    if (browser !== null && system !== null) return `${browser} on ${system}`;
    return browser ?? system ?? 'A browser';
  },
  /** Shown by the service worker for a message that it cannot read. */
  unreadable: { title: 'Tocsin', body: 'Something arrived. Open the inbox to read it.' },
};
