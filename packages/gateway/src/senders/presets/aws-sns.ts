// Amazon SNS, with the alarms of CloudWatch and the events of EventBridge inside it.
import type { JsonObject, JsonValue, Severity } from '@tocsin/contract';
import { titleAndBody } from '../chat-text.ts';
import { membersOf, type Preset, type SenderEvent, type SenderRequest, textOf } from '../event.ts';
import { readGeneric } from '../generic.ts';
import { joinLines } from '../text.ts';

/** Messages of SNS have at most 256 KiB, of which quotation marks are escaped in the body of a request. */
const maxBodyCharacters = 512 * 1024;
const shownDetails = 5;

const severityOfState: Readonly<Record<string, Severity>> = {
  ALARM: 'error',
  INSUFFICIENT_DATA: 'warning',
  OK: 'info',
};

export const awsSns: Preset = {
  name: 'aws-sns',
  label: 'Amazon SNS and CloudWatch',

  matches({ headers, body: { value } }) {
    const { Type, TopicArn, MessageId } = membersOf(value);
    const isEnvelope = [Type, TopicArn, MessageId].every((member) => typeof member === 'string');
    return headers['x-amz-sns-message-type'] !== undefined || isEnvelope;
  },

  read(request) {
    if (request.body.text.length > maxBodyCharacters) return null;
    const { Type, TopicArn, Subject, Message, MessageId } = membersOf(request.body.value);
    const topic = textOf(TopicArn)?.split(':').at(-1) ?? 'a topic';
    const common = { source: 'AWS', idempotencyKey: textOf(MessageId) };
    if (Type === 'SubscriptionConfirmation') {
      // Not as a link, and never opened by Tocsin: anyone can send this request.
      const body = 'Amazon SNS sends nothing before the address "SubscribeURL" of this event has been opened.';
      return { ...common, title: `Confirm the subscription to ${topic}`, body, severity: 'warning' };
    }
    if (Type === 'UnsubscribeConfirmation') {
      const body = 'Amazon SNS sends no more notifications of this topic.';
      return { ...common, title: `Unsubscribed from ${topic}`, body, severity: 'warning' };
    }
    // With raw message delivery, the body is the message.
    const message = Type === undefined ? request.body.value : parseMessage(Message);
    const members = membersOf(message);
    const subject = textOf(Subject);
    if (textOf(members.AlarmName) !== undefined) return { ...common, ...readAlarm(members) };
    if (textOf(members['detail-type']) !== undefined) return { ...common, ...readEventBridge(members) };
    if (typeof message === 'object')
      return { ...common, ...readOther(request, message), ...(subject && { title: subject }) };
    const text = textOf(message) ?? '';
    return { ...common, ...(subject === undefined ? titleAndBody(text) : { title: subject, body: text }) };
  },
};

function readAlarm({ AlarmName, AlarmDescription, AlarmArn, NewStateValue, NewStateReason }: JsonObject): SenderEvent {
  const state = textOf(NewStateValue) ?? '';
  return {
    title: `${state === '' ? 'Alarm' : state.replace('_', ' ')}: ${textOf(AlarmName)}`,
    body: joinLines(textOf(AlarmDescription), textOf(NewStateReason)),
    severity: Object.hasOwn(severityOfState, state) ? severityOfState[state] : null,
    threadKey: textOf(AlarmArn),
    resolved: state === 'OK',
  };
}

function readEventBridge(event: JsonObject): SenderEvent {
  const details = Object.entries(membersOf(event.detail)).flatMap(([name, value]) => {
    const text = textOf(value);
    return text === undefined ? [] : [`${name}: ${text}`];
  });
  return {
    title: textOf(event['detail-type']),
    body: joinLines(textOf(event.source), ...details.slice(0, shownDetails)),
    severity: null,
  };
}

/** JSON of another program. */
function readOther(request: SenderRequest, value: JsonValue): SenderEvent {
  return readGeneric({ ...request, body: { ...request.body, kind: 'json', value } });
}

/** The JSON in a message, or its text. */
function parseMessage(value: JsonValue | undefined): JsonValue {
  const text = textOf(value) ?? '';
  if (!text.startsWith('{')) return text;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
