// One kept HTTP/2 session to one origin, opened when needed and again when lost.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from 'node:http2';
import type { Socket } from 'node:net';
import { orAbort } from './abort.ts';
import { Failure } from './provider.ts';

export interface Http2Request {
  path: string;
  headers: Record<string, string>;
  body: string | Buffer;
}

export interface Http2Response {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Http2ClientOptions {
  /** For people, in errors. */
  name: string;
  /** https:, or http: for a stand-in on this machine. */
  origin: string;
  connectTimeoutMs: number;
  /** Certificate authority in PEM form, instead of those that Node knows. */
  ca?: string | undefined;
}

export interface Http2Client {
  /** Rejects with a Failure if there is no response, or with the signal's reason. */
  post(request: Http2Request, signal: AbortSignal): Promise<Http2Response>;
  /** Resolves when there is a session. */
  open(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

interface Connection {
  session: ClientHttp2Session;
  opened: Promise<void>;
  /** Of the requests on it, those that were answered and those that are under way. */
  answers: number;
  running: number;
  /** No further request goes over it. */
  isRetired: boolean;
  /** The end of session and socket; a session alone waits for the peer to close its side, however long that takes. */
  destroy(): void;
}

const maxAnswerBytes = 64 * 1024;
/** A peer that went away without a word is noticed in under a minute, before a notification has to find out. */
const keepAliveMs = 30_000;

/** The request got no response. `mayRepeat`: the provider cannot have acted on it, or the session was merely idle. */
class RequestLost extends Failure {
  readonly mayRepeat: boolean;

  constructor(name: string, code: string, mayRepeat: boolean) {
    super({ kind: 'retry', reason: 'unreachable', error: `${name} cannot be reached (${code})` });
    this.mayRepeat = mayRepeat;
  }
}

export function createHttp2Client({ name, origin, connectTimeoutMs, ca }: Http2ClientOptions): Http2Client {
  let current: Connection | null = null;
  /** Also those that are retired and have requests left. */
  const connections = new Set<Connection>();
  let isClosed = false;

  function obtain(): Connection {
    if (isClosed) throw new RequestLost(name, 'the gateway is stopping', false);
    if (current !== null && !current.session.closed && !current.session.destroyed) return current;
    const session = connect(origin, ca === undefined ? {} : { ca });
    let socket: Socket | undefined;
    const destroy = (): void => {
      session.destroy();
      socket?.destroy();
    };
    const connection = { session, opened: whenOpen(session), answers: 0, running: 0, isRetired: false, destroy };
    session.once('connect', (_session, connected) => {
      socket = connected as Socket;
      socket.setKeepAlive(true, keepAliveMs);
    });
    for (const end of ['close', 'goaway'] as const) session.once(end, () => retire(connection));
    connections.add(connection);
    current = connection;
    return connection;
  }

  function retire(connection: Connection): void {
    if (current === connection) current = null;
    connection.isRetired = true;
    endIfIdle(connection);
  }

  function endIfIdle(connection: Connection): void {
    if (!connection.isRetired || connection.running > 0) return;
    connections.delete(connection);
    connection.destroy();
  }

  function whenOpen(session: ClientHttp2Session): Promise<void> {
    const opened = new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new RequestLost(name, 'no connection in time', false));
        session.destroy();
      }, connectTimeoutMs);
      session.once('connect', () => resolve());
      // Stays for the life of the session: an error without a listener would end the process.
      session.on('error', (error) => reject(new RequestLost(name, codeOf(error), false)));
      session.once('close', () => reject(new RequestLost(name, 'connection closed', false)));
      for (const end of ['connect', 'close'] as const) session.once(end, () => clearTimeout(timer));
    });
    // The caller may have stopped waiting.
    opened.catch(() => undefined);
    return opened;
  }

  async function attempt(request: Http2Request, signal: AbortSignal): Promise<Http2Response> {
    const connection = obtain();
    await orAbort(connection.opened, signal);
    const answersBefore = connection.answers;
    connection.running += 1;
    try {
      const response = await exchange(connection, request, signal);
      connection.answers += 1;
      return response;
    } catch (error) {
      // No response on any stream: the session may be dead without an error. The next request opens a new one.
      if (signal.aborted && connection.answers === answersBefore) retire(connection);
      throw error;
    } finally {
      connection.running -= 1;
      endIfIdle(connection);
    }
  }

  function exchange(connection: Connection, request: Http2Request, signal: AbortSignal): Promise<Http2Response> {
    const lost = (code: string, isRefused: boolean): RequestLost =>
      new RequestLost(name, code, isRefused || connection.answers > 0);
    let stream: ClientHttp2Stream;
    try {
      signal.throwIfAborted();
      stream = connection.session.request({ ':method': 'POST', ':path': request.path, ...request.headers });
    } catch (error) {
      // The session ended between our look at it and now.
      return Promise.reject(signal.aborted ? signal.reason : lost(codeOf(error), true));
    }
    const answer = new Promise<Http2Response>((resolve, reject) => {
      let headers: (IncomingHttpHeaders & IncomingHttpStatusHeader) | undefined;
      let body = '';
      stream.setEncoding('utf8');
      stream.once('response', (received) => {
        headers = received;
      });
      stream.on('data', (chunk: string) => {
        body += chunk;
        if (body.length > maxAnswerBytes)
          reject(new Failure({ kind: 'retry', reason: 'deferred', error: `${name} answers at too great length` }));
      });
      stream.once('end', () => {
        if (headers !== undefined) resolve({ status: headers[':status'] ?? 0, headers, body });
      });
      // RFC 9113 section 8.7: a refused stream was not processed. Node also gives this code to those past a GOAWAY.
      const isRefused = (): boolean => stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
      stream.on('error', (error) => reject(lost(codeOf(error), isRefused())));
      stream.once('close', () => reject(lost('connection closed', isRefused())));
      stream.end(request.body);
    });
    return orAbort(answer, signal).catch((error) => {
      stream.close(constants.NGHTTP2_CANCEL);
      throw error;
    });
  }

  return {
    async post(request, signal) {
      try {
        return await attempt(request, signal);
      } catch (error) {
        if (!(error instanceof RequestLost) || !error.mayRepeat) throw error;
        return await attempt(request, signal);
      }
    },
    async open(signal) {
      await orAbort(obtain().opened, signal);
    },
    async close() {
      isClosed = true;
      for (const connection of connections) connection.destroy();
    },
  };
}

/** Only the code: a message may quote what was sent. */
function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'connection failed';
}
