export const settings = {
  title: 'Settings',
  sectionNavigation: 'Settings',
  sections: {
    profile: 'Profile',
    ringing: 'Ringing',
    history: 'History',
    'sign-in': 'Sign-in',
    phone: 'Phone',
    appearance: 'Appearance',
    about: 'About',
  },
  saved: 'Saved',
  profile: {
    name: 'Name',
    email: 'E-mail address',
    emailHint: 'A new address gets a mail with a link that confirms it.',
    emailHintWithoutMail: 'This service has no mail server yet, so nothing is mailed to it.',
    confirmationSent: (email: string) =>
      `A link is on its way to ${email}. The address changes when you open it, within a day.`,
    emailAlerts: 'Mail me each notification',
    emailAlertsHint: 'To your address above.',
    needsAddress: 'Enter an address first.',
    needsMailServer: 'This service has no mail server. Whoever runs it sets TOCSIN_SMTP_URL and TOCSIN_EMAIL_FROM.',
    testMail: 'Send a test mail',
    testMailSent: 'The mail server took the test mail.',
    testMailFailed: (why: string) => `The test mail was not sent: ${why}`,
  },
  ringing: { intro: 'How notifications reach you besides this inbox.' },
  quietHours: {
    title: 'Quiet hours',
    intro:
      'During these hours a channel stays silent: notifications wait for you in the inbox. Critical ones still ring.',
    channels: { push: 'Push to browsers and phones', email: 'Mail', mqtt: 'MQTT devices' },
    from: 'From',
    to: 'Until',
    timeZone: 'Time zone',
    save: 'Save quiet hours',
  },
  history: {
    keep: 'Keep notifications',
    asService: (days: number) =>
      days === 0 ? 'For ever' : days === 1 ? 'Server default: 1 day' : `Server default: ${days} days`,
    days: (days: number) => (days === 1 ? '1 day' : `${days} days`),
    limit: (days: number) =>
      days === 0
        ? 'This service keeps notifications for ever unless you choose less.'
        : days === 1
          ? 'This service keeps nothing longer than a day.'
          : `This service keeps nothing longer than ${days} days.`,
    confirmTitle: (days: number) => (days === 1 ? 'Keep for 1 day only?' : `Keep for ${days} days only?`),
    confirm: (days: number) =>
      days === 1
        ? 'Notifications older than a day are deleted soon, and for good.'
        : `Notifications older than ${days} days are deleted soon, and for good.`,
    confirmAction: 'Keep less',
  },
  passkeys: {
    title: 'Passkeys',
    intro: 'Sign in with your fingerprint, face or device PIN instead of a link.',
    needName:
      'Passkeys need a host name: open the console by its name instead of its IP address. The operator can set TOCSIN_CONSOLE_URL.',
    needHttps:
      'Passkeys need HTTPS: open the console over https. The operator can set TOCSIN_TLS_CERT and TOCSIN_TLS_KEY, or put a proxy with TLS in front.',
    needVerified:
      'Operators need a passkey that asks for a PIN, a fingerprint or a face, and none of yours is known to. Add one in Settings. The others stop working without it then.',
    tooOld: 'This browser is too old for passkeys.',
    added: (when: string) => `Added ${when}.`,
    used: 'Last used:',
    name: 'Name of a new passkey',
    add: 'Add a passkey',
    failed: 'The browser could not make a passkey.',
    isThere: 'This device has a passkey for you already.',
    delete: (name: string) => `Delete ${name}`,
    deleteTitle: (name: string) => `Delete ${name}?`,
    deleteMessage: 'It no longer signs you in. Browsers that are signed in stay so.',
  },
  sessions: {
    title: 'Signed-in browsers',
    intro: 'Sign out browsers that you do not recognise or no longer use. It takes effect at once.',
    thisOne: 'This browser',
    methods: { link: 'a link', mail: 'a mailed link', passkey: 'a passkey', oidc: 'your provider' },
    from: (method: string, address: string) => `Signed in with ${method}, from ${address}.`,
    seen: 'Last seen:',
    now: 'now',
    end: 'Sign out',
    endOf: (browser: string) => `Sign out ${browser}`,
    endOthers: 'Sign out all others',
    ended: (count: number) => (count === 1 ? '1 browser is signed out' : `${count} browsers are signed out`),
  },
  phone: {
    intro: 'Open this inbox on your phone, signed in, and let it ring there.',
    show: 'Show a QR code',
    codeLabel: 'QR code that opens this inbox on a phone',
    scan: 'Scan this with the camera of your phone. It signs in whoever opens it, once: show it to nobody else.',
    left: (time: string) => `Works for another ${time}`,
    expired: 'The code is too old now.',
    renew: 'New code',
    link: 'the link',
    onlyHere: (address: string) =>
      `Your phone cannot reach ${address}: that is this computer alone. Whoever runs this service sets TOCSIN_HOST=0.0.0.0, and TOCSIN_CONSOLE_URL to an address that phones reach.`,
  },
  appearance: { theme: 'Theme', themes: { system: 'System', light: 'Light', dark: 'Dark' } },
  about: { version: 'Version', apiUrl: 'API address', docs: 'API documentation', owners: 'Owners' },
};
