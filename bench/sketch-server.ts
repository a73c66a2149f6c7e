// The least work that the promise of the gateway needs, as a yardstick for it: parse the notification, look up the API key
// by its digest, encrypt, and respond after an fsync that all requests of the moment share. It has no database, no limits,
// no log and no channels.
import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { fdatasync, openSync, writev } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';

interface Row {
  bytes: Buffer;
  response: ServerResponse;
  body: string;
}

const [file, key] = process.argv.slice(2) as [string, string];
const descriptor = openSync(file, 'a', 0o600);
const write = promisify(writev);
const sync = promisify(fdatasync);
const ownersByDigest = new Map([[digestOf(`Bearer ${key}`), randomBytes(32)]]);
let rows: Row[] = [];
let isSyncing = false;

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

function encrypt(secret: Buffer, text: string): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', secret, nonce);
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}

async function syncRows(): Promise<void> {
  isSyncing = true;
  while (rows.length > 0) {
    const batch = rows;
    rows = [];
    await write(
      descriptor,
      batch.map(({ bytes }) => bytes),
    );
    await sync(descriptor);
    for (const { response, body } of batch) respond(response, 200, body);
  }
  isSyncing = false;
}

function respond(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const secret = ownersByDigest.get(digestOf(request.headers.authorization ?? ''));
    if (secret === undefined) {
      respond(response, 401, '{}');
      return;
    }
    const notification = JSON.parse(Buffer.concat(chunks).toString()) as object;
    const id = crypto.randomUUID();
    rows.push({
      bytes: encrypt(secret, JSON.stringify(notification)),
      response,
      body: JSON.stringify({ id, stored: true, ...notification }),
    });
    if (!isSyncing) void syncRows();
  });
});

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
// The parent process has ended, and no other process would stop this one.
process.on('disconnect', () => process.exit());
