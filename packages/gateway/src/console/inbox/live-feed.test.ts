import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import type { SavedListener, Store } from '../../usecases/ports/index.ts';
import { createLiveFeed, type Listener } from './live-feed.ts';

const listener: Listener = {
  isSignedIn: async () => true,
  arrived: () => undefined,
  changed: () => undefined,
  failed: (error) => assert.fail(error as Error),
};

/** A store without notifications, which emits `poll` with the owners of each read. */
function createFeed() {
  const polls = new EventEmitter<{ poll: [string[]] }>();
  const savedListeners = new Set<SavedListener>();
  const inbox: Partial<Store['inbox']> = {
    async readNews(inboxes) {
      const owners = inboxes.map(({ ownerId }) => ownerId);
      polls.emit('poll', owners);
      return owners.map((ownerId) => ({ ownerId, generation: 1, arrived: [] }));
    },
    onSaved(each) {
      savedListeners.add(each);
      return () => savedListeners.delete(each);
    },
  };
  const feed = createLiveFeed({ inbox: inbox as Store['inbox'] }, Date.now);
  const nextPoll = async (): Promise<string[]> => (await once(polls, 'poll'))[0] as string[];
  return { feed, nextPoll, savedListeners };
}

test('A notification that this process stores causes a poll of its inbox alone', async () => {
  const { feed, nextPoll, savedListeners } = createFeed();
  const first = feed.watch('first', listener);
  await first.ready;
  const second = feed.watch('second', listener);
  await second.ready;

  const reportSaved = (): void => {
    for (const saved of savedListeners) saved('first');
  };
  let polled: string[];
  do {
    const polling = nextPoll();
    reportSaved();
    polled = await polling;
    // The regular poll of all inboxes may come first.
  } while (polled.length > 1);
  assert.deepEqual(polled, ['first']);
  first.stop();
  assert.equal(savedListeners.size, 1);
  second.stop();
  assert.equal(savedListeners.size, 0, 'nothing is reported while no inbox is open');
});
