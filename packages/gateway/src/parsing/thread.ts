// Runs in a worker thread: parses bodies and stored notifications that could occupy the event loop for long.
import { parentPort, workerData } from 'node:worker_threads';
import type { AcceptedContent, JsonObject, NotificationContent } from '@tocsin/contract';
import { type AddressPolicy, parseNetwork } from '../core/address-policy.ts';
import { excerptOf } from '../core/data-excerpt.ts';
import type { BodyFormat } from '../core/parse-body.ts';
import { Refusal } from '../core/refusal.ts';
import type { ParseJob, ParseResults, PlainContent, ThreadOptions } from './protocol.ts';
import { readRequest } from './read-request.ts';

const port = parentPort;
if (port === null) throw new Error('The parsing thread was started outside of a worker.');
const { allowedNetworks } = workerData as ThreadOptions;
const policy: AddressPolicy = {
  allowed: allowedNetworks.map(parseNetwork).filter((network) => network !== undefined),
};

port.on('message', ({ job, bytes }: { job: ParseJob; bytes: Uint8Array<ArrayBuffer> }) => {
  const text = Buffer.from(bytes.buffer);
  port.postMessage(job.kind === 'request' ? parseRequest(job.format, text) : parseContent(text));
});

function parseRequest(format: BodyFormat, body: Buffer): ParseResults['request'] {
  try {
    const { content, ...request } = readRequest(format, body, policy);
    return { request, content: encode(content) };
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, details: error.details };
    throw error;
  }
}

function parseContent(plaintext: Buffer): ParseResults['content'] {
  return encode(JSON.parse(plaintext.toString('utf8')) as NotificationContent);
}

function encode({ data, ...texts }: AcceptedContent): PlainContent {
  // Only the main thread holds encoded data.
  const members = data as JsonObject;
  const excerpt = excerptOf({ body: texts.body, data: members });
  return { ...texts, data: { json: JSON.stringify(members), keys: Object.keys(members), excerpt } };
}
