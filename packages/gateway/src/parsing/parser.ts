// Parses requests and stored notifications: most of them at once, and those that could take long in a thread.
import { Worker } from 'node:worker_threads';
import { type AcceptedContent, EncodedData, type JsonObject, type NormalizedRequest } from '@tocsin/contract';
import type { AddressPolicy } from '../core/address-policy.ts';
import { isCostlyToParse } from '../core/costly-text.ts';
import type { BodyFormat } from '../core/parse-body.ts';
import { Refusal } from '../core/refusal.ts';
import type { ParseJob, ParseResults, PlainContent, ThreadOptions } from './protocol.ts';
import { readRequest } from './read-request.ts';

/** Shorter data is parsed again on the main thread, so that other code rarely meets encoded data. */
const encodedCharacters = 16_384;
/** After this time without a job the thread ends and frees its memory. */
const idleMs = 60_000;
/** Makes the garbage collector of the thread run more often. */
const resourceLimits = { maxYoungGenerationSizeMb: 16 };

export class Parser {
  readonly #policy: AddressPolicy;
  #worker: Worker | null = null;
  #idleTimer: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(policy: AddressPolicy) {
    this.#policy = policy;
  }

  /** Throws or rejects with a Refusal. */
  request(format: BodyFormat, body: Buffer): NormalizedRequest | Promise<NormalizedRequest> {
    const parse = (): NormalizedRequest => readRequest(format, body, this.#policy);
    return isCostlyToParse(body) ? this.#parseRequest(format, body, parse) : parse();
  }

  /** The plaintext of a stored notification. */
  content(plaintext: Buffer): AcceptedContent | Promise<AcceptedContent> {
    const parse = (): AcceptedContent => JSON.parse(plaintext.toString('utf8')) as AcceptedContent;
    return isCostlyToParse(plaintext) ? this.#parseContent(plaintext, parse) : parse();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  async #parseRequest(format: BodyFormat, body: Buffer, parse: () => NormalizedRequest): Promise<NormalizedRequest> {
    const result = await this.#enqueue({ kind: 'request', format }, body);
    if (result === null) return parse();
    if ('code' in result) throw new Refusal(result.code, { details: result.details });
    return { ...result.request, content: toContent(result.content) };
  }

  async #parseContent(plaintext: Buffer, parse: () => AcceptedContent): Promise<AcceptedContent> {
    const result = await this.#enqueue({ kind: 'content' }, plaintext);
    return result === null ? parse() : toContent(result);
  }

  /** One job runs at a time. Returns null if the thread has ended: then the main thread does the work. */
  #enqueue<Job extends ParseJob>(job: Job, bytes: Buffer): Promise<ParseResults[Job['kind']] | null> {
    const running = this.#last.then(() => this.#run<ParseResults[Job['kind']]>(job, bytes));
    this.#last = running;
    return running;
  }

  async #run<Result>(job: ParseJob, bytes: Buffer): Promise<Result | null> {
    if (this.#isClosed) return null;
    clearTimeout(this.#idleTimer);
    const worker = this.#running();
    const { promise, resolve } = Promise.withResolvers<Result | null>();
    const onEnd = (): void => resolve(null);
    worker.once('message', resolve).once('exit', onEnd);
    // The caller keeps its bytes; the copy is handed over to the thread.
    const copy = new Uint8Array(bytes);
    worker.postMessage({ job, bytes: copy }, [copy.buffer]);
    const result = await promise;
    worker.off('message', resolve).off('exit', onEnd);
    this.#idleTimer = setTimeout(() => void this.#end(), idleMs).unref();
    return result;
  }

  #running(): Worker {
    if (this.#worker !== null) return this.#worker;
    const allowedNetworks = this.#policy.allowed.map(([address, bits]) => `${address}/${bits}`);
    const workerData: ThreadOptions = { allowedNetworks };
    const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData, resourceLimits });
    worker.unref();
    const forget = (): void => {
      if (this.#worker === worker) this.#worker = null;
    };
    // An error ends the thread. The main thread repeats the work, and reports the error.
    worker.on('error', forget).on('exit', forget);
    this.#worker = worker;
    return worker;
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }
}

function toContent({ data, ...texts }: PlainContent): AcceptedContent {
  if (data.json.length > encodedCharacters) return { ...texts, data: new EncodedData(data) };
  return { ...texts, data: Object.setPrototypeOf(JSON.parse(data.json), null) as JsonObject };
}
