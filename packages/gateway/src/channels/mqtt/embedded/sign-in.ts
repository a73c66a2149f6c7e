// Authenticates a device by its password. It must be active and not paused; the peer cannot distinguish that from a wrong
// password.
import { timingSafeEqual } from 'node:crypto';
import { digestOf } from '../../../core/key-format.ts';
import { isPublishable } from '../../../core/recipients.ts';
import type { Connection, Connections } from './connections.ts';
import type { CredentialReader } from './credential-reader.ts';
import type { SignInRefusal } from './events.ts';
import type { FailedSignIns } from './failed-sign-ins.ts';
import { limits } from './limits.ts';
import { topicsOf } from './topic-access.ts';

const deviceIdShape = /^[A-Za-z0-9_-]{1,64}$/;
/** Compared with if there is no such device, so that the time does not reveal which devices exist. */
const placeholderDigest = digestOf('');

export interface SignInDeps {
  credentials: CredentialReader;
  topicPrefix: string;
  failedSignIns: FailedSignIns;
  connections: Connections;
}

export function isDeviceId(text: string | undefined): text is string {
  return text !== undefined && deviceIdShape.test(text);
}

/** null if the connection has signed in; it then has an identity. */
export async function signIn(
  { credentials, topicPrefix, failedSignIns, connections }: SignInDeps,
  connection: Connection,
  username: string | undefined,
  password: Buffer | undefined,
): Promise<SignInRefusal | null> {
  const { addressKey, clientId } = connection;
  const passwordDigest = digestOf(password?.toString('utf8') ?? '');
  const attempt = { addressKey, username: isDeviceId(username) ? username : '', passwordDigest };
  if (!failedSignIns.isAllowed(attempt)) return 'too_many_failures';
  const found = await findDevice(credentials, username);
  if (found === 'unavailable') return 'store';
  const isPasswordCorrect = isSameDigest(passwordDigest, found?.secretDigest ?? placeholderDigest);
  if (found === null || password === undefined || !isPasswordCorrect) {
    failedSignIns.countFailure(attempt);
    return 'credentials';
  }
  failedSignIns.recordAccepted(attempt);
  if (!isPublishable(found)) return 'credentials';
  if (clientId === null) return 'client_id';

  const { id: deviceId, ownerId, secretDigest } = found;
  await closePredecessors(connections, deviceId, clientId);
  if (connection.stream.destroyed) return 'credentials';
  if (connections.ofDevice(deviceId).size >= limits.connectionsPerDevice) return 'too_many_connections';
  const topics = topicsOf(topicPrefix, ownerId, deviceId);
  connections.identify(connection, { ownerId, deviceId, clientId, secretDigest, topics });
  return null;
}

async function findDevice(credentials: CredentialReader, username: string | undefined) {
  if (!isDeviceId(username)) return null;
  try {
    return await credentials.find(username);
  } catch {
    return 'unavailable';
  }
}

/** Closes the earlier connection of the same client (MQTT-3.1.4-2), and waits until aedes has processed that. */
async function closePredecessors(connections: Connections, deviceId: string, clientId: string): Promise<void> {
  for (;;) {
    const predecessor = [...connections.ofDevice(deviceId)].find(({ identity }) => identity?.clientId === clientId);
    if (predecessor === undefined) return;
    predecessor.client.close();
    await predecessor.closed;
  }
}

function isSameDigest(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
