// Sends bytes on a socket, for requests that no HTTP client would send.
import { connect } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { ResponseBody } from './requests.ts';

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: ResponseBody | null;
}

/** Sends the chunks and reads until the server closes the connection, which the request should demand. */
export async function rawRequest(api: string, ...pieces: (string | Buffer)[]): Promise<RawAnswer> {
  const { protocol, hostname: host, port } = new URL(api);
  // Other tests verify the certificate.
  const socket =
    protocol === 'https:'
      ? connectSecurely({ host, port: Number(port), rejectUnauthorized: false })
      : connect(Number(port), host);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // A server that refuses early may reset the connection while the rest is still being sent.
  socket.on('error', () => socket.destroy());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  for (const piece of pieces) socket.write(piece);
  await closed;
  return parse(Buffer.concat(chunks));
}

/** The first of the received responses. */
function parse(bytes: Buffer): RawAnswer {
  const headEnd = bytes.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const body = bytes.toString('utf8', headEnd + 4, headEnd + 4 + Number(headers['content-length'] ?? 0));
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    body: body === '' ? null : (JSON.parse(body) as ResponseBody),
  };
}
