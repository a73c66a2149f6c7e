import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonValue } from '@tocsin/contract';
import type { SenderRequest } from '../event.ts';
import { pagerduty } from './pagerduty.ts';

function requestOf(value: JsonValue, headers: SenderRequest['headers'] = {}): SenderRequest {
  const body = { kind: 'json' as const, value, text: JSON.stringify(value), droppedFiles: [] };
  return { method: 'POST', path: '', query: new URLSearchParams(), headers, body };
}

describe('signatures', () => {
  // The secret, the body and the signatures of TestVerifySignature in
  // github.com/PagerDuty/go-pagerduty/webhookv3/webhookv3_test.go.
  const secret = 'lDQHScfUeXUKaQRNF+8XIiDKZ7XX3itBAYzwU0TARw8lJqRnkKl2iB1anSb0Z+IK';
  const rawBody = Buffer.from(
    '{"event":{"id":"01BWDWL3NYY7LUFPZCC28QUCMK","event_type":"incident.priority_updated","resource_type":"incident","occurred_at":"2021-04-26T17:36:27.458Z","agent":{"html_url":"https://acme.pagerduty.com/users/PLH1HKV","id":"PLH1HKV","self":"https://api.pagerduty.com/users/PLH1HKV","summary":"Tenex Engineer","type":"user_reference"},"client":null,"data":{"id":"PGR0VU2","type":"incident","self":"https://api.pagerduty.com/incidents/PGR0VU2","html_url":"https://acme.pagerduty.com/incidents/PGR0VU2","number":2,"status":"triggered","title":"A little bump in the road","service":{"html_url":"https://acme.pagerduty.com/services/PF9KMXH","id":"PF9KMXH","self":"https://api.pagerduty.com/services/PF9KMXH","summary":"API Service","type":"service_reference"},"assignees":[{"html_url":"https://acme.pagerduty.com/users/PTUXL6G","id":"PTUXL6G","self":"https://api.pagerduty.com/users/PTUXL6G","summary":"User 123","type":"user_reference"}],"escalation_policy":{"html_url":"https://acme.pagerduty.com/escalation_policies/PUS0KTE","id":"PUS0KTE","self":"https://api.pagerduty.com/escalation_policies/PUS0KTE","summary":"Default","type":"escalation_policy_reference"},"teams":[{"html_url":"https://acme.pagerduty.com/teams/PFCVPS0","id":"PFCVPS0","self":"https://api.pagerduty.com/teams/PFCVPS0","summary":"Engineering","type":"team_reference"}],"priority":{"html_url":"https://acme.pagerduty.com/account/incident_priorities","id":"PSO75BM","self":"https://api.pagerduty.com/priorities/PSO75BM","summary":"P1","type":"priority_reference"},"urgency":"high","conference_bridge":{"conference_number":1000,"conference_url":"https://example.com"},"resolve_reason":null}}}',
  );
  const valid = 'v1=0c0b9495b893a39e70d1fea2fe11fbe0a825f88b9f67846f6cc07dd2bc5476cd';
  const wrong = 'v1=7020c8a7ec668a9b7012bc3dd82e483394b038f4230acc6785efbf2a7d8bcaf5';

  function problemOf(signature: string | undefined): string | null | undefined {
    const request = requestOf({}, { 'x-pagerduty-signature': signature });
    return pagerduty.signatureProblem?.({ request, rawBody, secret, now: 0 });
  }

  test('the published signature is valid, also as one of several', () => {
    for (const signature of [valid, `${wrong},${valid}`, `${valid}, ${wrong}`])
      assert.equal(problemOf(signature), null);
  });

  test('missing, empty, malformed and wrong signatures, and those of other versions, are problems', () => {
    const digits = valid.slice(3);
    for (const signature of [undefined, '', ',', 'v1=', 'v1=zz', digits, `v2=${digits}`, `v1=${digits}0`, wrong]) {
      assert.equal(typeof problemOf(signature), 'string', String(signature));
    }
  });
});

describe('responses', () => {
  const response = (value: JsonValue) => pagerduty.respond?.(requestOf(value));

  test('an event of the Events API gets the response of PagerDuty, with its key', () => {
    const own = response({ routing_key: 'R0', event_action: 'trigger', dedup_key: 'db1', payload: {} });
    assert.deepEqual([own?.status, own?.contentType], [202, 'application/json']);
    const expected = { status: 'success', message: 'Event processed', dedup_key: 'db1' };
    assert.deepEqual(JSON.parse(own?.body ?? ''), expected);
  });

  test('an event without a key gets one, the same if it is repeated', () => {
    const event = { routing_key: 'R0', event_action: 'trigger', payload: { summary: 'Import failed' } };
    const { dedup_key: key } = JSON.parse(response(event)?.body ?? '') as { dedup_key: string };
    assert.match(key, /^[0-9a-f]{32}$/);
    assert.deepEqual(response(event), response(event));
  });

  test('a webhook gets the response of Tocsin', () => {
    const event = {
      event_type: 'incident.triggered',
      resource_type: 'incident',
      data: { type: 'incident', title: 'x' },
    };
    assert.equal(response({ event }), undefined);
  });
});

test('the test of a webhook is not a notification', () => {
  const event = { event_type: 'pagey.ping', resource_type: 'pagey', data: { message: 'Hello', type: 'ping' } };
  assert.deepEqual(pagerduty.read(requestOf({ event })), { ignored: 'ping' });
});

test('a note of an incident belongs to the thread of the incident', () => {
  const incident = { id: 'Q1', type: 'incident_reference', summary: 'Checkout is down' };
  const data = { type: 'incident_note', id: 'N1', content: 'Restarted', incident };
  const note = pagerduty.read(
    requestOf({ event: { event_type: 'incident.annotated', resource_type: 'incident', data } }),
  );
  assert.partialDeepStrictEqual(note, {
    title: 'Annotated: Checkout is down',
    threadKey: 'incident Q1',
    severity: null,
  });
});
