import type { IncomingMessage } from 'node:http';
import { Refusal } from '../core/refusal.ts';

/** After a refusal this much more is read and dropped, so that a client that is still sending sees the answer. */
const toleratedBytes = 4 * 1024 * 1024;

/** The whole body, or a refusal with the first byte that is too many. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const refuse = (): void =>
      reject(
        new Refusal('body_too_large', { details: [{ field: 'body', problem: `must not exceed ${maxBytes} bytes` }] }),
      );
    const chunks: Buffer[] = [];
    let length = 0;
    if (Number(request.headers['content-length']) > maxBytes) refuse();
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      refuse();
      if (length > maxBytes + toleratedBytes) request.destroy();
    });
    request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)));
    // Node reports a client that went away in the middle as an error, or only as a close.
    const leave = (): void => {
      if (!request.complete) reject(new ClientGone('the client closed the connection before the body was complete'));
    };
    request.on('error', leave);
    request.on('close', leave);
  });
}

/** Nobody is left to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}
