export const settings = {
  title: 'Settings',
  sectionNavigation: 'Settings',
  sections: {
    profile: 'Profile',
    notifications: 'Notifications',
    history: 'History',
    'sign-in': 'Sign-in',
    phone: 'Phone',
    appearance: 'Appearance',
    about: 'About',
  },
  saved: 'Saved',
  profile: {
    name: 'Name',
    email: 'Email address',
    emailHint: 'A new address receives an email with a confirmation link.',
    emailHintNoSmtp: 'This service has no SMTP server yet, so it sends no email to this address.',
    confirmationSent: (email: string) =>
      `A confirmation link is on its way to ${email}. The address changes when you open it, within a day.`,
    emailAlerts: 'Email me each notification',
    emailAlertsHint: 'To the address above.',
    needsAddress: 'Enter an address first.',
    needsSmtp: 'This service has no SMTP server. The operator can set TOCSIN_SMTP_URL and TOCSIN_EMAIL_FROM.',
    testEmail: 'Send a test email',
    testEmailSent: 'The SMTP server accepted the test email.',
    testEmailFailed: (why: string) => `The test email was not sent: ${why}`,
  },
  notifications: { intro: 'How notifications reach you outside this inbox.' },
  quietHours: {
    title: 'Quiet hours',
    intro:
      'During these hours a channel is muted: notifications only appear in the inbox. Critical ones are still delivered.',
    from: 'From',
    to: 'Until',
    timeZone: 'Time zone',
    save: 'Save quiet hours',
  },
  history: {
    keep: 'Keep notifications',
    serviceDefault: (days: number) =>
      days === 0
        ? 'Service default (forever)'
        : days === 1
          ? 'Service default (1 day)'
          : `Service default (${days} days)`,
    days: (days: number) => (days === 1 ? '1 day' : `${days} days`),
    limit: (days: number) =>
      days === 0
        ? 'This service keeps notifications forever by default.'
        : days === 1
          ? 'This service keeps notifications for at most 1 day.'
          : `This service keeps notifications for at most ${days} days.`,
    confirmTitle: (days: number) => (days === 1 ? 'Keep for 1 day only?' : `Keep for ${days} days only?`),
    confirm: (days: number) =>
      days === 1
        ? 'Notifications older than 1 day are deleted soon. This cannot be undone.'
        : `Notifications older than ${days} days are deleted soon. This cannot be undone.`,
    confirmAction: 'Shorten',
  },
  passkeys: {
    title: 'Passkeys',
    intro: 'Sign in with your fingerprint, face or device PIN instead of a link.',
    needName:
      'Passkeys need a host name: open the console by its name instead of its IP address. The operator can set TOCSIN_CONSOLE_URL.',
    needHttps:
      'Passkeys need HTTPS: open the console over HTTPS. The operator can set TOCSIN_TLS_CERT and TOCSIN_TLS_KEY, or use a reverse proxy with TLS.',
    needVerified:
      'Operators need a passkey that asks for a PIN, a fingerprint or a face, and none of yours is known to. Add one in Settings. Your other passkeys then stop working unless they ask for one, too.',
    tooOld: 'This browser is too old for passkeys.',
    added: (when: string) => `Added ${when}.`,
    used: 'Last used:',
    name: 'Name of a new passkey',
    add: 'Add a passkey',
    failed: 'The browser could not create a passkey.',
    exists: 'This device already has a passkey for you.',
    delete: (name: string) => `Delete ${name}`,
    deleteTitle: (name: string) => `Delete ${name}?`,
    deleteMessage: 'You can no longer sign in with it. Browsers that are signed in stay signed in.',
  },
  sessions: {
    title: 'Signed-in browsers',
    intro: 'Sign out browsers that you do not recognize or no longer use. It takes effect immediately.',
    thisBrowser: 'This browser',
    methods: { link: 'a link', mail: 'an email link', passkey: 'a passkey', oidc: 'your provider' },
    from: (method: string, address: string) => `Signed in with ${method}, from ${address}.`,
    seen: 'Last seen:',
    now: 'now',
    end: 'Sign out',
    endOf: (browser: string) => `Sign out ${browser}`,
    endOthers: 'Sign out all others',
    ended: (count: number) => (count === 1 ? '1 browser was signed out' : `${count} browsers were signed out`),
  },
  phone: {
    intro: 'Open this inbox on your phone, signed in, and enable push there.',
    show: 'Show a QR code',
    codeLabel: 'QR code that opens this inbox on a phone',
    scan: 'Scan this with the camera of your phone. Anyone who opens the link is signed in as you, once: do not share it.',
    left: (time: string) => `Expires in ${time}`,
    expired: 'The code has expired.',
    renew: 'New code',
    link: 'the link',
    loopback: (address: string) =>
      `Your phone cannot reach ${address}: that address works on this computer only. The operator can set TOCSIN_HOST=0.0.0.0, and TOCSIN_CONSOLE_URL to an address that phones can reach.`,
  },
  appearance: { theme: 'Theme', themes: { system: 'System', light: 'Light', dark: 'Dark' } },
  about: { version: 'Version', apiUrl: 'API address', docs: 'API documentation', owners: 'Owners' },
};
