// The hooks by which aedes asks whether a client may connect, subscribe, publish or receive.
import { randomUUID } from 'node:crypto';
import type { AedesOptions, AuthenticateError, Client } from 'aedes';
import type { Connection, Connections } from './connections.ts';
import type { OnBrokerEvent, SignInRefusal } from './events.ts';
import { limits } from './limits.ts';
import { sessionId } from './sessions.ts';
import { isDeviceId, type SignInDeps, signIn } from './sign-in.ts';
import { hasForbiddenCharacters, maySubscribe } from './topic-access.ts';

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

export interface AuthorizationDeps extends SignInDeps {
  connections: Connections;
  onEvent: OnBrokerEvent;
  onSignedIn(connection: Connection): void;
}

export function createAuthorizationHooks(deps: AuthorizationDeps): Hooks {
  const { connections, onEvent, onSignedIn } = deps;
  const identityOf = (client: Client | null) => (client === null ? null : (connections.of(client)?.identity ?? null));

  return {
    preConnect(client, packet, done) {
      const connection = connections.of(client);
      if (connection === undefined) return done(new Error('unknown connection'), false);
      connections.beginSignIn(connection);
      connection.clientId = acceptableClientId(packet.clientId, packet.clean ?? false);
      // aedes distinguishes clients by this id alone, so it contains the device, which is not authenticated yet.
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
      signIn(deps, connection, username, password).then(
        (refusal) => {
          if (refusal !== null) return refuse(refusal);
          connection.inspector.signedIn();
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
      const hasSpace = connection.filters.has(filter) || connection.filters.size < limits.filtersPerClient;
      if (!hasSpace || !maySubscribe(topics, filter)) {
        onEvent({ kind: 'subscription_refused', ownerId, deviceId, clientId });
        return done(null, null);
      }
      connection.filters.set(filter, qos);
      done(null, subscription);
    },

    /**
     * A client may publish anything, as bridges and home automation do, and gets its PUBACK or PUBCOMP. Its messages are
     * not forwarded: aedes gets an empty message on a topic without subscribers. The same applies to `$SYS` of aedes.
     */
    authorizePublish(client, packet, done) {
      const connection = client === null ? undefined : connections.of(client);
      const identity = connection?.identity ?? null;
      if (connection === undefined || identity === null) return done(new Error('the client has not signed in'));
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

/** null if it is not acceptable. An empty id is replaced, which is possible only with a clean session (MQTT-3.1.3-8). */
function acceptableClientId(clientId: string, isClean: boolean): string | null {
  if (clientId === '') return isClean ? randomUUID() : null;
  return clientId.length <= limits.clientIdLength && !hasForbiddenCharacters(clientId) ? clientId : null;
}
