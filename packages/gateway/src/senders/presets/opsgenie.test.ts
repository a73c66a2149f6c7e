import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, JsonValue } from '@tocsin/contract';
import type { SenderRequest } from '../event.ts';
import { opsgenie } from './opsgenie.ts';

function requestOf(path: string, value: JsonValue): SenderRequest {
  const body = { kind: 'json' as const, value, text: JSON.stringify(value), droppedFiles: [] };
  return { method: 'POST', path, query: new URLSearchParams('identifierType=alias'), headers: {}, body };
}

// https://docs.opsgenie.com/docs/alert-api: the response to every request that changes an alert.
test('a request to the Alert API gets the response of Opsgenie', () => {
  for (const path of ['v2/alerts', 'v2/alerts/', 'v2/alerts/db1/close']) {
    const own = opsgenie.respond?.(requestOf(path, { message: 'x' }));
    assert.deepEqual([own?.status, own?.contentType], [202, 'application/json']);
    const { requestId, ...others } = JSON.parse(own?.body ?? '') as Record<string, unknown>;
    assert.deepEqual(others, { result: 'Request will be processed', took: 0 });
    assert.match(String(requestId), /^[0-9a-f]{32}$/);
  }
});

test('a webhook of Opsgenie gets the response of Tocsin', () => {
  const webhook = { action: 'Create', alert: { alertId: 'a7', message: 'Queue is stuck' } };
  assert.equal(opsgenie.respond?.(requestOf('', webhook)), undefined);
});

test('an alert is closed by the alias in the path, also if it is encoded or damaged', () => {
  const close = (path: string) => opsgenie.read(requestOf(path, { source: 'probe' }));
  const created = opsgenie.read(requestOf('v2/alerts', { message: 'Disk is full', alias: 'disk /var' }));
  assert.partialDeepStrictEqual(created, { threadKey: 'alert disk /var', resolved: false });
  const closed = {
    title: 'Closed: disk /var',
    threadKey: 'alert disk /var',
    resolved: true,
    severity: 'info' as const,
  };
  assert.partialDeepStrictEqual(close('v2/alerts/disk%20%2Fvar/close'), closed);
  assert.partialDeepStrictEqual(close('v2/alerts/%E0%A4%A/close'), { threadKey: 'alert %E0%A4%A', resolved: true });
});

// notify/opsgenie/opsgenie.go of Alertmanager sends these after every alert if `update_alerts` is set.
test('changes of the message and description of an alert are stored without a send', () => {
  for (const [action, body] of [
    ['message', { message: 'Disk is full' }],
    ['description', { description: '98 %' }],
  ] as const) {
    const event = opsgenie.read(requestOf(`v2/alerts/db1/${action}`, body));
    assert.partialDeepStrictEqual(event, { silent: true, threadKey: 'alert db1' });
  }
});

test('an alert without a priority has the severity of its details', () => {
  const severityOf = (fields: JsonObject) => {
    const event = opsgenie.read(requestOf('v2/alerts', { message: 'Disk is full', ...fields }));
    return event !== null && 'severity' in event ? event.severity : undefined;
  };
  assert.equal(severityOf({ details: { severity: 'critical' } }), 'critical');
  assert.equal(severityOf({ details: { severity: 'critical' }, priority: 'P4' }), 'info');
  assert.equal(severityOf({}), 'warning');
});
