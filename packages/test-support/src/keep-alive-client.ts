// One connection that sends a request, reads the complete response, and sends the next. It counts every byte, because
// shutdown tests check the outcome of the last request.
import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';

/** With this pause, some of many clients are between two requests at any time. */
const thinkMs = 10;

export interface LastWords {
  /** Ids of the notifications with a complete response. */
  answered: string[];
  statuses: Set<number>;
  /** Whether the last complete response announced that the connection closes. */
  saidClose: boolean;
  /** Bytes of a truncated response; 0 if the connection ended between responses. */
  truncatedBytes: number;
  /** A request was in flight when the connection ended. */
  wasWaiting: boolean;
  error: string | null;
}

export class KeepAliveClient {
  readonly ended: Promise<LastWords>;
  readonly #socket: Socket;
  readonly #request: (count: number) => string;
  readonly #words: LastWords = {
    answered: [],
    statuses: new Set(),
    saidClose: false,
    truncatedBytes: 0,
    wasWaiting: false,
    error: null,
  };
  #bytes: Buffer = Buffer.alloc(0);
  #count = 0;
  #onAnswer: () => void = () => undefined;
  readonly firstResponse = new Promise<void>((resolve) => {
    this.#onAnswer = resolve;
  });

  constructor({ api, key }: { api: string; key: string }, name: string) {
    const { protocol, hostname: host, port } = new URL(api);
    this.#socket =
      protocol === 'https:'
        ? connectSecurely({ host, port: Number(port), rejectUnauthorized: false })
        : connect(Number(port), host);
    this.#request = (count) => {
      const body = JSON.stringify({ title: `${name} ${count}` });
      return `POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    };
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#words.error = error.code ?? error.message;
    });
    this.ended = new Promise((resolve) => {
      this.#socket.once('close', () => resolve({ ...this.#words, truncatedBytes: this.#bytes.length }));
    });
    this.#next();
  }

  #next(): void {
    this.#count += 1;
    this.#words.wasWaiting = true;
    this.#socket.write(this.#request(this.#count));
  }

  #read(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    const headEnd = this.#bytes.indexOf('\r\n\r\n');
    if (headEnd === -1) return;
    const head = this.#bytes.toString('latin1', 0, headEnd);
    const end = headEnd + 4 + Number(/^content-length: (\d+)$/im.exec(head)?.[1]);
    if (this.#bytes.length < end) return;
    const body = JSON.parse(this.#bytes.toString('utf8', headEnd + 4, end)) as { id: string };
    this.#bytes = this.#bytes.subarray(end);
    const words = this.#words;
    words.answered.push(body.id);
    words.statuses.add(Number(head.split(' ')[1]));
    words.wasWaiting = false;
    words.saidClose = /^connection: close$/im.test(head);
    this.#onAnswer();
    if (!words.saidClose) setTimeout(() => this.#socket.writable && this.#next(), thinkMs);
  }
}
