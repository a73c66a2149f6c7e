// Who may connect: a device with its own secret, active and not paused. Every other case looks the same to the peer.
import { timingSafeEqual } from 'node:crypto';
import { digestOf } from '../../../core/key-format.ts';
import { isPublishable } from '../../../core/recipients.ts';
import type { Store } from '../../../usecases/ports/index.ts';
import type { Connection, Connections } from './connections.ts';
import type { SignInRefusal } from './events.ts';
import type { Attempts } from './failed-sign-ins.ts';
import { limits } from './limits.ts';
import { topicsOf } from './topic-access.ts';

const deviceIdShape = /^[A-Za-z0-9_-]{1,64}$/;
/** Compared with where there is no device, so that the same work is done. */
const nobodysDigest = digestOf('');

export interface SignInParts {
  store: Pick<Store, 'devices'>;
  topicPrefix: string;
  attempts: Attempts;
  connections: Connections;
}

export function isDeviceId(text: string | undefined): text is string {
  return text !== undefined && deviceIdShape.test(text);
}

/** null when the connection has signed in; it then has an identity. */
export async function signIn(
  { store, topicPrefix, attempts, connections }: SignInParts,
  connection: Connection,
  username: string | undefined,
  password: Buffer | undefined,
): Promise<SignInRefusal | null> {
  const { address, clientId } = connection;
  const passwordDigest = digestOf(password?.toString('utf8') ?? '');
  const attempt = { address, username: isDeviceId(username) ? username : '', passwordDigest };
  if (!attempts.isAllowed(attempt)) return 'too_many_failures';
  const found = await findDevice(store, username);
  if (found === 'unavailable') return 'store';
  const isRight = isSameDigest(passwordDigest, found?.secretDigest ?? nobodysDigest);
  if (found === null || password === undefined || !isRight) {
    attempts.countFailure(attempt);
    return 'credentials';
  }
  attempts.noteAccepted(attempt);
  const { device, secretDigest } = found;
  if (!isPublishable(device)) return 'credentials';
  if (clientId === null) return 'client_id';

  const { id: deviceId, ownerId } = device;
  await endPredecessors(connections, deviceId, clientId);
  if (connection.stream.destroyed) return 'credentials';
  if (connections.ofDevice(deviceId).size >= limits.connectionsPerDevice) return 'too_many_connections';
  const topics = topicsOf(topicPrefix, ownerId, deviceId);
  connections.identify(connection, { ownerId, deviceId, clientId, secretDigest, topics });
  return null;
}

async function findDevice(store: SignInParts['store'], username: string | undefined) {
  if (!isDeviceId(username)) return null;
  try {
    return await store.devices.find(username);
  } catch {
    return 'unavailable';
  }
}

/** A client that connects again takes its own place (MQTT-3.1.4-2); aedes must be done with the old one by then. */
async function endPredecessors(connections: Connections, deviceId: string, clientId: string): Promise<void> {
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
