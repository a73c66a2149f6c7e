// Runs in a worker thread: decrypting, parsing and matching notifications never blocks the event loop, regardless of their
// content.
import { parentPort } from 'node:worker_threads';
import type { NotificationContent } from '@tocsin/contract';
import { createMatch, type Match } from '../../core/search-match.ts';
import { DecryptionFailed } from '../../usecases/ports/index.ts';
import { decrypt, keyVersionOf } from '../vault/cipher.ts';
import { contextOf } from '../vault/encrypted-rows.ts';
import type { RowResult, SearchJob, SearchReply } from './protocol.ts';

const port = parentPort;
if (port === null) throw new Error('The search thread was started outside of a worker.');
const reply = (message: SearchReply): void => port.postMessage(message);

port.on('message', (job: SearchJob) => {
  const { id, terms, rows, mostMatches } = job;
  reply({ id, kind: 'begun' });
  const match = createMatch(terms);
  let matches = 0;
  for (const row of rows) {
    const result = searchRow(job, row, match);
    reply({ id, kind: 'row', result });
    if (result.kind === 'match' && ++matches === mostMatches) break;
  }
  reply({ id, kind: 'end' });
});

function searchRow({ ownerId, keys }: SearchJob, { id, sealed }: SearchJob['rows'][number], match: Match): RowResult {
  const version = keyVersionOf(sealed);
  const key = keys.find((candidate) => candidate.version === version) ?? keys[0];
  if (key === undefined) return { kind: 'damaged' };
  try {
    const content = decrypt(key, contextOf('notifications', { owner_id: ownerId, id }), sealed).toString('utf8');
    return match(JSON.parse(content) as NotificationContent) ? { kind: 'match', content } : { kind: 'no-match' };
  } catch (error) {
    // One damaged row must not hide the others.
    if (error instanceof DecryptionFailed) return { kind: 'damaged' };
    throw error;
  }
}
