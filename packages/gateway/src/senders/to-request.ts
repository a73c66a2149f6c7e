// An event → the request that is planned, stored and delivered like one of `POST /`.
import { defaults, limits, type NormalizedRequest, type Original, type Severity } from '@tocsin/contract';
import { cut } from '../core/normalize.ts';
import type { SenderEvent, SenderRequest } from './event.ts';

/** What a hook decides about its events. */
export interface SenderDefaults {
  name: string;
  severity: Severity | null;
  disabledChannels: readonly string[];
}

/** Headers that say what happened or identify the delivery; the others may hold credentials. */
const keptHeaders =
  /^(x-(github|gitlab|gitea|forgejo|gogs|event|hook)-?(event|event-type|event-uuid|delivery|key|resource)?|sentry-hook-resource|request-id|webhook-id|svix-id|ce-(id|type|source|time|subject)|x-amz-sns-(message-type|message-id|topic-arn)|x-shopify-(topic|event-id)|linear-(event|delivery))$/;

export function toRequest(event: SenderEvent, request: SenderRequest, sender: SenderDefaults): NormalizedRequest {
  const disabledBySender = Object.entries(event.channels ?? {}).flatMap(([name, isOn]) => (isOn ? [] : [name]));
  return {
    content: {
      title: cut(event.title ?? sender.name, limits.titleCharacters),
      body: cut(event.body ?? defaults.body, limits.bodyCharacters),
      source: cut(event.source ?? sender.name, limits.sourceCharacters),
      category: event.category ?? defaults.category,
      severity: event.severity ?? sender.severity,
      data: {},
    },
    sendPush: true,
    sendEmail: null,
    sendMqtt: true,
    strictDelivery: false,
    deviceId: null,
    mqttQos: defaults.mqttQos,
    customBroker: null,
    original: originalOf(event, request),
    disabledChannels: [...sender.disabledChannels, ...disabledBySender],
  };
}

function originalOf({ original }: SenderEvent, { body, headers }: SenderRequest): Original {
  const kept = Object.entries(headers).filter(
    (header): header is [string, string] => header[1] !== undefined && keptHeaders.test(header[0]),
  );
  return { event: original ?? body.value, headers: Object.fromEntries(kept) };
}
