import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Owner } from '../../usecases/ports/index.ts';
import { ownersWithEmail } from './owners-with-email.ts';

test('An address matches an owner regardless of ASCII case, but not if it only looks the same', async () => {
  const emails = ['Frank@Example.org', null, 'fran\u212a@example.org'];
  const owners = emails.map((email, index) => ({ id: `own_${index}`, email }) as Owner);
  const found = async (address: string): Promise<string[]> =>
    (await ownersWithEmail({ list: async () => owners }, address)).map(({ id }) => id);
  assert.deepEqual(await found('fRANK@example.ORG'), ['own_0']);
  assert.deepEqual(await found('Fran\u212a@example.org'), ['own_2']);
  assert.deepEqual(await found('frank@example.com'), []);
});
