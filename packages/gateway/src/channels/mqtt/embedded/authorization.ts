// The questions aedes asks before it lets a client do something.
import { randomUUID } from 'node:crypto';
import type { AedesOptions, AuthenticateError, Client } from 'aedes';
import type { Connection, Connections } from './connections.ts';
import type { OnBrokerEvent, SignInRefusal } from './events.ts';
import { limits } from './limits.ts';
import { sessionId } from './sessions.ts';
import { isDeviceId, type SignInParts, signIn } from './sign-in.ts';
import { maySubscribe } from './topic-access.ts';

/** MQTT 3.1.1, section 3.2.2.3. The code does not reveal what is wrong with the credentials: always 5. */
const returnCodes: Record<SignInRefusal, number> = {
  credentials: 5,
  client_id: 2,
  too_many_failures: 3,
  too_many_connections: 3,
  store: 3,
};

type Hooks = Required<
  Pick<AedesOptions, 'preConnect' | 'authenticate' | 'authorizeSubscribe' | 'authorizePublish' | 'authorizeForward'>
>;

export interface AuthorizationDeps extends SignInParts {
  connections: Connections;
  onEvent: OnBrokerEvent;
  onSignedIn(connection: Connection): void;
}

export function createAuthorizationHooks(parts: AuthorizationDeps): Hooks {
  const { connections, onEvent, onSignedIn } = parts;
  const identityOf = (client: Client | null) => (client === null ? null : (connections.of(client)?.identity ?? null));

  return {
    preConnect(client, packet, done) {
      const connection = connections.of(client);
      if (connection === undefined) return done(new Error('unknown connection'), false);
      connections.beginSignIn(connection);
      connection.clientId = acceptableClientId(packet.clientId, packet.clean ?? false);
      // aedes knows clients by this id alone, so it carries the device that has yet to prove itself.
      const deviceId = isDeviceId(packet.username) ? packet.username : '';
      packet.clientId = sessionId({ deviceId, clientId: connection.clientId ?? randomUUID() });
      // Messages that clients publish are not forwarded, and neither is a last will.
      delete packet.will;
      done(null, true);
    },

    authenticate(client, username, password, done) {
      const connection = connections.of(client) as Connection;
      const refuse = (reason: SignInRefusal): void => {
        onEvent({ kind: 'sign_in_refused', reason, address: connection.address });
        done(
          Object.assign(new Error('sign-in refused'), { returnCode: returnCodes[reason] }) as AuthenticateError,
          false,
        );
      };
      signIn(parts, connection, username, password).then(
        (refusal) => {
          if (refusal !== null) return refuse(refusal);
          connection.gauge.signedIn();
          onSignedIn(connection);
          done(null, true);
        },
        (error) => {
          onEvent({ kind: 'failed', error });
          refuse('store');
        },
      );
    },

    authorizeSubscribe(client, subscription, done) {
      const connection = connections.of(client);
      const identity = identityOf(client);
      if (connection === undefined || identity === null) return done(null, null);
      const { ownerId, deviceId, clientId, topics } = identity;
      const { topic: filter, qos } = subscription;
      const isRoom = connection.filters.has(filter) || connection.filters.size < limits.filtersPerClient;
      if (!isRoom || !maySubscribe(topics, filter)) {
        onEvent({ kind: 'subscription_refused', ownerId, deviceId, clientId });
        return done(null, null);
      }
      connection.filters.set(filter, qos);
      done(null, subscription);
    },

    /**
     * A client may publish anything, as a bridge or a home automation does, and gets its PUBACK or PUBCOMP. Nothing of it
     * is passed on: aedes sees an empty message on a topic that has no subscribers, also in place of its own `$SYS`.
     */
    authorizePublish(client, packet, done) {
      const connection = client === null ? undefined : connections.of(client);
      const identity = connection?.identity ?? null;
      if (connection === undefined || identity === null) return done(new Error('a client that is not signed in'));
      const { ownerId, deviceId, clientId, topics } = identity;
      const payload = Buffer.from(packet.payload);
      if (packet.topic === topics.acknowledgements && payload.length <= limits.acknowledgementBytes) {
        onEvent({ kind: 'acknowledged', ownerId, deviceId, clientId, payload });
      } else if (!connection.isPublishReported) {
        connection.isPublishReported = true;
        onEvent({ kind: 'publish_ignored', ownerId, deviceId, clientId });
      }
      Object.assign(packet, { topic: 'ignored', payload: noPayload, retain: false });
      done(null);
    },

    /** Only messages of the gateway for this device; messages of clients are not forwarded. */
    authorizeForward(client, packet) {
      const { clientId: sender } = packet as { clientId?: string };
      return sender === undefined && packet.topic === identityOf(client)?.topics.notifications ? packet : null;
    },
  };
}

const noPayload = Buffer.alloc(0);

/** A client without a name gets one, unless its session is to be found again (MQTT-3.1.3-8). */
function acceptableClientId(clientId: string, isClean: boolean): string | null {
  if (clientId === '') return isClean ? randomUUID() : null;
  return clientId.length <= limits.clientIdLength && !/[\p{Cc}\p{Cs}\ufffd]/u.test(clientId) ? clientId : null;
}
