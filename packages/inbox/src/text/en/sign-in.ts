export const signIn = {
  title: 'Sign in',
  heading: 'Sign in to Tocsin',
  or: 'or',
  docs: 'API documentation',
  withPasskey: 'Sign in with a passkey',
  passkeyFailed: 'The browser could not use a passkey here. Try another way to sign in.',
  withProvider: (name: string) => `Sign in with ${name}`,
  providerUnavailable: 'The provider that people sign in with here does not answer. Try again in a moment.',
  providerRefused:
    'Signing in there did not work, or nobody here has that address. Try again, or ask whoever runs this service to add you.',
  noWays: 'You need a link that works once. On the server, this prints one; “npx tocsin owner list” shows the ids:',
  fromServer: 'On the server, this prints a link that works once; “npx tocsin owner list” shows the ids:',
  command: 'npx tocsin owner sign-in ID',
  mail: {
    address: 'E-mail address',
    placeholder: 'you@example.com',
    send: 'Mail me a link',
    sent: (email: string) =>
      `If ${email} is known here, a link is on its way. It works once, within 15 minutes. Look into the spam folder, too.`,
    another: 'Use another address',
  },
  link: {
    title: (name: string) => `Sign in as ${name}`,
    intro: 'This link works once. You stay signed in on this device for 30 days after you last used it.',
    go: 'Sign in',
    usedTitle: 'This link no longer works',
    used: 'It was used already, or it is too old. Each link works once and for a short time. Ask for a new one the way you got this one.',
    otherWays: 'Other ways to sign in',
    failedTitle: 'That did not work',
  },
  confirm: {
    title: 'Confirm your address',
    intro: (email: string, name: string) => `${email} becomes the address of ${name}.`,
    go: 'Confirm',
    signInFirst: (name: string) => `Sign in as ${name} to confirm`,
    done: (email: string) => `${email} is your address now.`,
  },
};
