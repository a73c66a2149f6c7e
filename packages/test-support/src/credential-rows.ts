import type { Store } from '../../gateway/src/usecases/ports/index.ts';

/** Personal data that must not be readable in any file. */
export const credentialCanaries = {
  userAgent: 'canary-user-agent-h2Wd',
  address: '203.0.113.199',
  email: 'canary-new-address@k4rt.example',
  credentialId: 'canaryCredentialIdT8nq',
  publicKey: 'canaryPublicKeyB5vx',
  passkeyName: 'canary-passkey-name-Ze3m',
  issuer: 'https://canary-issuer-9pls.example',
  subject: 'canary-subject-Uj6f',
};

/** Adds a row to every table of credentials, and marks the notification as read. Digests begin with the id of the owner. */
export async function addCredentialRows(store: Store, ownerId: string, notificationId: string): Promise<void> {
  const { userAgent, address, email, credentialId, publicKey, passkeyName: name, issuer, subject } = credentialCanaries;
  const createdAt = Date.now();
  const [id, expiresAt] = [`row of ${ownerId}`, createdAt + 60_000];
  const times = { createdAt, seenAt: createdAt, expiresAt };
  const tokenDigest = `${ownerId} token`;
  await store.sessions.create({ id, ownerId, tokenDigest, method: 'link', userAgent, address, ...times });
  const link = { purpose: 'confirm_email', method: 'mail', email, createdAt, expiresAt } as const;
  await store.oneTimeLinks.create({ tokenDigest, ownerId, ...link });
  const credential = { credentialDigest: `${ownerId} credential`, credentialId, publicKey, transports: ['usb'], name };
  await store.passkeys.create({ id, ownerId, ...credential, userVerified: true, counter: 0, createdAt, usedAt: null });
  await store.identities.create({ id, ownerId, subjectDigest: `${ownerId} subject`, issuer, subject, createdAt });
  await store.inbox.markRead(ownerId, [notificationId], true);
}
