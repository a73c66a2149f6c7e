// stored → ready: brings the messages of one queue into memory, in order. While the client keeps up they come straight from
// the publishers, without a read of the store; when it falls behind, or connects while messages wait, they are read page by
// page.
import type { MqttQueueName, MqttQueueRepository } from '../../../usecases/ports/index.ts';
import type { FindPayload } from './find-payload.ts';
import type { MessageStates, ReadyMessage } from './message-states.ts';
import type { QueueRemover } from './queue-remover.ts';

/** Messages that are read from the store at a time. */
const pageSize = 50;
/** Sorts after every notification id. */
const afterAllIds = '\uffff';

export interface QueueReaderDeps {
  name: MqttQueueName;
  rows: Pick<MqttQueueRepository, 'list'>;
  findPayload: FindPayload;
  messages: MessageStates;
  remover: QueueRemover;
}

export class QueueReader {
  readonly #deps: QueueReaderDeps;
  /** The store holds messages that are not in memory. */
  #isBehind: boolean;
  /** The highest notification id that was in memory since the last restart: rows after it are new. */
  #cursor = '';
  /** How often reading was restarted from the first row. */
  #restarts = 0;
  #arrivals = 0;
  /** The lowest notification id that was left to the store since the last read began. */
  #lowestDeferred = afterAllIds;

  constructor(deps: QueueReaderDeps, hasRows: boolean) {
    this.#deps = deps;
    this.#isBehind = hasRows;
  }

  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** A message was stored. It stays in memory if a client is connected and no earlier message is still to be read. */
  arrived(message: ReadyMessage, isConnected: boolean): void {
    const { messages } = this.#deps;
    this.#arrivals += 1;
    if (messages.has(message.notificationId)) return;
    const isPassed = message.notificationId <= this.#cursor;
    if (!isConnected || (this.#isBehind && !isPassed)) this.#defer(message);
    else if (!messages.isReadyFull) this.#add(message);
    else if (isPassed) this.restart();
    else this.#defer(message);
  }

  /** Rows were added that did not arrive one by one, or messages in memory were returned to the store. */
  restart(): void {
    this.#cursor = '';
    this.#isBehind = true;
    this.#restarts += 1;
  }

  /** Rows were moved into this queue. */
  rowsAdded(): void {
    this.#arrivals += 1;
    this.restart();
  }

  /** Reads the next page; the payloads are read concurrently. The page is discarded if `isCurrent` is false afterwards. */
  async readPage(isCurrent: () => boolean): Promise<void> {
    const { name, rows: stored, findPayload, messages, remover } = this.#deps;
    const [arrivals, restarts] = [this.#arrivals, this.#restarts];
    this.#lowestDeferred = afterAllIds;
    // A row that is acknowledged and removed while the store reads is unknown afterwards, although the page has it.
    const knownBefore = messages.listIds();
    const after = this.#cursor;
    const limit = pageSize + (after === '' ? knownBefore.size : 0);
    const rows = await stored.list(name, { limit, after });
    const unknown = rows.filter(({ notificationId: id }) => !knownBefore.has(id) && !messages.has(id));
    const found = await Promise.all(
      unknown.map(async ({ notificationId, qos }) => ({
        notificationId,
        qos,
        payload: await findPayload(name.ownerId, notificationId),
      })),
    );
    if (!isCurrent() || restarts !== this.#restarts) return;
    for (const { notificationId, qos, payload } of found) {
      if (payload === null) remover.expire(notificationId);
      else if (!messages.has(notificationId)) this.#add({ notificationId, qos, payload });
    }
    this.#advance(rows.at(-1)?.notificationId ?? '');
    // Ids are assigned before rows are committed, so a message that arrived during the read may be missing in the page
    // although later ones are in it. The next read begins at the same row.
    if (this.#lowestDeferred <= this.#cursor) this.#cursor = after;
    if (rows.length < limit && arrivals === this.#arrivals) this.#isBehind = false;
  }

  #defer({ notificationId }: ReadyMessage): void {
    this.#isBehind = true;
    if (notificationId < this.#lowestDeferred) this.#lowestDeferred = notificationId;
  }

  #add(message: ReadyMessage): void {
    this.#deps.messages.addReady(message);
    this.#advance(message.notificationId);
  }

  #advance(notificationId: string): void {
    if (notificationId > this.#cursor) this.#cursor = notificationId;
  }
}
