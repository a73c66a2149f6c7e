import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { retentionChoices } from '../src/pages/settings/retention-choices.ts';

suite('The choices for retention', () => {
  test('go up to the limit of the service, including the saved value', () => {
    assert.deepEqual(retentionChoices(90, null), [null, 30, 7, 1]);
    assert.deepEqual(retentionChoices(90, 14), [null, 30, 14, 7, 1]);
    assert.deepEqual(retentionChoices(0, null), [null, 730, 365, 180, 90, 30, 7, 1]);
  });
});
