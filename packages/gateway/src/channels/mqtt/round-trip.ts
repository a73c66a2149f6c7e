// Whether what is published on the operator's broker arrives. Brokers of MQTT 3.1.1 confirm what they throw away for want
// of permission, so a confirmation proves nothing: doctor publishes a message and listens for it.
import { randomBytes } from 'node:crypto';
import { deviceTopic } from '../../core/device-topics.ts';
import { isAccepted } from '../../core/outcome.ts';
import { type MqttConnection, openConnection } from './client-connection.ts';
import { allVersions, openWithVersion } from './client-version.ts';
import type { PlatformBrokerConfig } from './config.ts';
import { outcomeOf, problemOf } from './outcome.ts';
import { clientOptionsOf, describe } from './platform.ts';

export interface RoundTripOptions {
  topicPrefix: string;
  now(): number;
  timeoutMs?: number;
}

export interface RoundTripResult {
  state: 'ok' | 'warning' | 'failed';
  message: string;
}

/** In place of an owner; no owner has this id. */
const doctorLevel = 'doctor';
const lists = 'docs/operators.md has access lists that do';

export async function tryRoundTrip(config: PlatformBrokerConfig, options: RoundTripOptions): Promise<RoundTripResult> {
  const { topicPrefix, now, timeoutMs = 5000 } = options;
  const mark = randomBytes(12).toString('hex');
  const topic = deviceTopic(topicPrefix, doctorLevel, mark);
  const allTopics = deviceTopic(topicPrefix, '+', '+');
  const readable = deviceTopic(topicPrefix, doctorLevel, '+');
  await using opened = new AsyncDisposableStack();
  const open = async (): Promise<MqttConnection> => {
    const signal = AbortSignal.timeout(timeoutMs);
    const connection = await openWithVersion(allVersions, (version) =>
      openConnection({ client: clientOptionsOf(config), version, now, signal }),
    );
    return opened.adopt(connection, (each) => each.close());
  };

  try {
    const listener = await open();
    const arrived = Promise.withResolvers<boolean>();
    const maySubscribe = await within(
      timeoutMs,
      false,
      listener.subscribe(topic, (payload) => arrived.resolve(payload.toString() === mark)),
    );
    // Some brokers hang up on a subscription that they do not allow; another connection may still publish.
    const publisher = await open();
    const result = await publisher.publish(
      { topic, payload: Buffer.from(mark), qos: 1, expiresAt: now() + 60_000, notification: null },
      AbortSignal.timeout(timeoutMs),
    );
    if (result.kind === 'lost') {
      return failed(
        `the broker closes the connection when a message is published to ${allTopics}: it does not allow this user to, ` +
          `or does not take the topic. ${prefixAdvice(topicPrefix)}${lists}`,
      );
    }
    if (result.kind !== 'taken') {
      const outcome = outcomeOf(result);
      const error = isAccepted(outcome) ? '' : outcome.error;
      return failed(`${error}. The user has to be allowed to publish to ${allTopics}; ${lists}`);
    }
    if (!maySubscribe) {
      return {
        state: 'warning',
        message:
          `the broker confirms what is published, but does not allow this user to subscribe to ${readable}, so that ` +
          `delivery cannot be verified; ${lists}`,
      };
    }
    if (await within(timeoutMs, false, arrived.promise)) {
      return { state: 'ok', message: 'the broker answers, and what is published arrives' };
    }
    const notDelivered = `the broker confirmed a message to ${topic} and did not deliver it`;
    // A broker of MQTT 5 says in its confirmation when it does not allow the publish.
    return publisher.version === 5
      ? { state: 'warning', message: `${notDelivered}: allow this user to read ${readable}; ${lists}` }
      : failed(`${notDelivered}: allow this user to publish to ${allTopics}, and to read ${readable}; ${lists}`);
  } catch (error) {
    return failed(describe(config, problemOf(error)));
  }
}

function failed(message: string): RoundTripResult {
  return { state: 'failed', message };
}

/** Dots separate the levels of a subject in NATS. */
function prefixAdvice(topicPrefix: string): string {
  return topicPrefix.includes('.') ? `NATS takes no dots: change TOCSIN_MQTT_TOPIC_PREFIX (${topicPrefix}). ` : '';
}

async function within<T>(ms: number, otherwise: T, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(otherwise), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
