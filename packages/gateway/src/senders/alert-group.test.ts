import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@tocsin/contract';
import { type AlertGroup, alertGroupOf, linesOfGroup, severityOfGroup, statusOfGroup } from './alert-group.ts';

function groupOf(alerts: JsonObject[], fields: JsonObject = {}): AlertGroup {
  const group = alertGroupOf({ groupKey: '{}', status: 'firing', alerts, ...fields });
  assert.ok(group);
  return group;
}

const alert = (summary: string, severity: string, status = 'firing'): JsonObject => ({
  status,
  labels: { severity },
  annotations: { summary },
});

test('a resolved alert does not decide the severity of a group that fires', () => {
  const group = groupOf([alert('a', 'critical', 'resolved'), alert('b', 'warning'), alert('c', 'info')]);
  assert.equal(severityOfGroup(group), 'warning');
  assert.equal(statusOfGroup(group), '[FIRING:2]');
  assert.equal(linesOfGroup(group), 'b\nc\nResolved: a');
});

test('an alert with an unknown severity is an error', () => {
  assert.equal(severityOfGroup(groupOf([alert('a', 'team-red'), alert('b', 'warning')])), 'error');
  assert.equal(severityOfGroup(groupOf([])), 'error');
});

test('a large group has its first ten alerts, and the number of the others', () => {
  const alerts = Array.from({ length: 12 }, (_, index) => alert(`alert ${index}`, 'warning'));
  const lines = linesOfGroup(groupOf(alerts, { truncatedAlerts: 30 })).split('\n');
  assert.deepEqual([lines.length, lines.at(0), lines.at(-1)], [11, 'alert 0', 'and 32 more']);
});
