import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { NormalizedRequest } from '@tocsin/contract';
import type { ChannelDefinition } from '../core/channel.ts';
import type { Dispatch } from '../core/dispatch.ts';
import { testContent } from '../core/test-content.ts';
import { createIdempotency, type IdempotencyDeps } from './idempotency.ts';

const request: NormalizedRequest = {
  content: testContent,
  ...{ sendPush: false, sendEmail: false, sendMqtt: false, strictDelivery: false },
  ...{ deviceId: null, mqttQos: 1, customBroker: null },
};
const claim = { keyDigest: 'digest', fingerprint: 'same', expiresAt: 1 };

/** Without flat fields in the contract. */
const pager: ChannelDefinition = {
  name: 'pager',
  label: 'Pager',
  provider: 'The pager service',
  settings: () => null,
  plan: () => ({ channel: pager, enabled: true, targets: [{ id: 'belt' }], skipReason: null }),
  planFromDispatch: () => ({ channel: pager, enabled: true, targets: [], skipReason: null }),
  resolve: (_recipients, id) => ({ id }),
  describe: async () => new Map(),
};

/** The list `channels` in the report of a request whose process died. */
async function channelsAfterCrash(isConfigured: boolean, dispatch: Dispatch | null) {
  const store = {
    idempotency: { find: async () => ({ ...claim, notificationId: 'n', leaseUntil: 0, answer: null }) },
    dispatches: { find: async () => dispatch && { dispatch, results: { pager: ['rejected'] } } },
    deliveries: { list: async () => [] },
  } as unknown as IdempotencyDeps['store'];
  const idempotency = createIdempotency({
    ...{ definitions: [pager], isConfigured: () => isConfigured, store },
    now: () => 1,
  });
  const recalled = await idempotency.recall('own_1', claim, request);
  assert.ok(recalled !== null && 'interrupted' in recalled);
  return recalled.interrupted.channels;
}

suite('The report of an interrupted request', () => {
  const dispatch: Dispatch = { qos: 1, isStrict: false, pager: ['belt'] };
  const error = 'The first attempt did not reach it';
  const rejected = [{ channel: 'pager', target: 'belt', outcome: 'rejected', error }];

  test('has no list of further channels while none is configured', async () => {
    assert.equal(await channelsAfterCrash(false, null), undefined);
    assert.deepEqual(await channelsAfterCrash(true, null), []);
  });

  test('has the targets of a channel that was configured when the request was made', async () => {
    assert.deepEqual(await channelsAfterCrash(true, dispatch), rejected);
    assert.deepEqual(await channelsAfterCrash(false, dispatch), rejected);
  });
});
