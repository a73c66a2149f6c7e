import type { IncomingMessage } from 'node:http';
import { Refusal } from '../core/refusal.ts';

/** After a refusal this much more is read and discarded, so that a client that is still sending gets the response. */
const toleratedBytes = 4 * 1024 * 1024;

/** Refuses by Content-Length, before anything is read. */
export function checkDeclaredLength(request: IncomingMessage, maxBytes: number): void {
  if (!(Number(request.headers['content-length']) > maxBytes)) return;
  let length = 0;
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > maxBytes + toleratedBytes) request.destroy();
  });
  throw tooLarge(maxBytes);
}

/** Reads the whole body; refuses at the first byte over the limit. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const length = await receive(request, maxBytes, (chunk) => chunks.push(chunk));
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length);
}

/** Reads to the end without buffering; refuses at the first byte over the limit. */
export async function dropBody(request: IncomingMessage, maxBytes: number): Promise<void> {
  await receive(request, maxBytes, () => undefined);
}

function receive(request: IncomingMessage, maxBytes: number, onChunk: (chunk: Buffer) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    let length = 0;
    // Node reports a client that disconnected during the body as an error, or only as a close.
    const leave = (): void => {
      if (!request.complete) reject(new ClientGone('the client closed the connection before the body was complete'));
    };
    if (request.destroyed) leave();
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) {
        onChunk(chunk);
        return;
      }
      reject(tooLarge(maxBytes));
      if (length > maxBytes + toleratedBytes) request.destroy();
    });
    request.on('end', () => resolve(length));
    request.on('error', leave);
    request.on('close', leave);
  });
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal('body_too_large', { details: [{ field: 'body', problem: `must not exceed ${maxBytes} bytes` }] });
}

/** The client has disconnected, so there is no response. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}
