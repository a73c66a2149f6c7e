// Rows of credentials, modified directly in the database: they disclose nothing, and cannot be made valid for another user.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { addCredentialRows, credentialCanaries } from '@tocsin/test-support/credential-rows.ts';
import { findTraces } from '@tocsin/test-support/find-traces.ts';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import { RowTamperer } from '@tocsin/test-support/row-tamperer.ts';
import { openStore } from '../src/store/open-store.ts';
import type { Store } from '../src/usecases/ports/index.ts';

const [ann, bob] = ['own_ann', 'own_bob'];

suite('The rows of credentials', () => {
  let dataDir: string;
  let store: Store;
  let rows: RowTamperer;
  const now = Date.now();

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'tocsin-sign-in-'));
    store = await openStore({ dataDir, masterKey: null }, 'create');
    for (const id of [ann, bob]) {
      await store.owners.create(plainOwner(id, now));
      await addCredentialRows(store, id, randomUUID());
    }
    rows = new RowTamperer(dataDir);
  });
  after(async () => {
    rows.close();
    await store.close();
    await rm(dataDir, { recursive: true });
  });

  test('hold nothing in plaintext that a person or a browser sent', async () => {
    for (const name of await readdir(dataDir)) {
      const bytes = await readFile(join(dataDir, name));
      assert.deepEqual(findTraces(bytes, credentialCanaries), [], `traces in ${name}`);
      if (name === 'tocsin.db-wal') assert.deepEqual(findTraces(bytes, { ann }), ['ann'], 'plaintext is found');
    }
  });

  const finders = {
    sessions: ['token_digest', (digest: string) => store.sessions.find(digest, now)],
    passkeys: ['credential_digest', (digest: string) => store.passkeys.find(digest)],
    oidc_identities: ['subject_digest', (digest: string) => store.identities.find(digest)],
    one_time_links: ['token_digest', (digest: string) => store.oneTimeLinks.find(digest, now)],
  } as const;

  for (const [table, [column, find]] of Object.entries(finders)) {
    test(`admit no client by a digest that was written into ${table}`, async () => {
      const word = column.split('_')[0];
      assert.equal((await find(`${ann} ${word}`))?.ownerId, ann);
      rows.update(table, { [column]: 'a digest of another user' }, { owner_id: ann });
      assert.equal(await find('a digest of another user'), null);
      rows.update(table, { [column]: `${ann} ${word}` }, { owner_id: ann });
      const foreign = rows.read(table, 'sealed', { owner_id: bob });
      const own = rows.read(table, 'sealed', { owner_id: ann });
      rows.update(table, { sealed: foreign }, { owner_id: ann });
      assert.equal(await find(`${ann} ${word}`), null);
      rows.update(table, { sealed: own }, { owner_id: ann });
      assert.equal((await find(`${ann} ${word}`))?.ownerId, ann);
    });
  }

  test('do not extend the life of a link', async () => {
    rows.update('one_time_links', { expires_at: now + 9_000_000 }, { owner_id: ann });
    assert.equal(await store.oneTimeLinks.consume(`${ann} token`, now), null);
  });
});
