// Runs as a separate process: thousands of connections that begin a request and never finish it.
// After { port, key, sockets } it sends 'open' when all are connected, and their outcomes when all are closed.
import { connect, type Socket } from 'node:net';

export const styles = ['silent', 'half a request line', 'half a header', 'body byte by byte'] as const;
export type Style = (typeof styles)[number];

export interface SwarmOrder {
  port: number;
  key: string;
  sockets: number;
}

/** Outcomes of the connections of one style. */
export interface StyleReport {
  opened: number;
  /** Number of complete 408 responses: JSON with its code, and the CORS header. */
  refusedProperly: number;
  /** An unexpected response, for the failure message; empty if there is none. */
  improper: string;
  /** The longest time that a connection was open. */
  longestMs: number;
}

export type SwarmReport = { event: 'open' } | { event: 'closed'; byStyle: Record<Style, StyleReport> };

const openingsWith = (key: string): Record<Style, string> => ({
  silent: '',
  'half a request line': 'POST / HT',
  'half a header': 'POST / HTTP/1.1\r\nHost: gateway\r\nX-Slow: ',
  // Without a key it would be refused at once.
  'body byte by byte': `POST / HTTP/1.1\r\nHost: gateway\r\nContent-Length: 1000\r\nX-API-Key: ${key}\r\n\r\n`,
});

/** Number of concurrent connection attempts; more would only overflow the backlog of the listener. */
const connectingAtOnce = 100;
const dripEveryMs = 2000;

if (process.send !== undefined) process.once('message', (order: SwarmOrder) => void run(order));

async function run({ port, key, sockets }: SwarmOrder): Promise<void> {
  const openings = openingsWith(key);
  const report = (what: SwarmReport): void => void process.send?.(what);
  const byStyle = Object.fromEntries(
    styles.map((style) => [style, { opened: 0, refusedProperly: 0, improper: '', longestMs: 0 }]),
  ) as Record<Style, StyleReport>;
  const dripping = new Set<Socket>();
  const drip = setInterval(() => {
    for (const socket of dripping) socket.write(' ');
  }, dripEveryMs);

  const ends: Promise<void>[] = [];
  let next = 0;
  const openOneAfterAnother = async (): Promise<void> => {
    while (next < sockets) {
      const style = styles[next++ % styles.length] as Style;
      const socket = connect(port, '127.0.0.1');
      await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
      socket.removeAllListeners('error');
      byStyle[style].opened += 1;
      ends.push(follow(socket, openings[style], byStyle[style]));
      if (style === 'body byte by byte') dripping.add(socket);
      socket.once('close', () => dripping.delete(socket));
    }
  };
  await Promise.all(Array.from({ length: connectingAtOnce }, openOneAfterAnother));
  report({ event: 'open' });
  await Promise.all(ends);
  clearInterval(drip);
  report({ event: 'closed', byStyle });
  process.disconnect?.();
}

/** Sends the beginning, and waits for the end. */
function follow(socket: Socket, opening: string, report: StyleReport): Promise<void> {
  const connectedAt = performance.now();
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  // A reset after the response is acceptable.
  socket.on('error', () => socket.destroy());
  socket.write(opening);
  return new Promise((resolve) => {
    socket.once('close', () => {
      report.longestMs = Math.max(report.longestMs, performance.now() - connectedAt);
      if (isProperRefusal(answer)) report.refusedProperly += 1;
      else report.improper = answer === '' ? 'no response at all' : answer;
      resolve();
    });
  });
}

function isProperRefusal(answer: string): boolean {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  if (!head.startsWith('HTTP/1.1 408 ') || !/^access-control-allow-origin: \*$/im.test(head)) return false;
  try {
    return JSON.parse(body).code === 'request_timeout';
  } catch {
    return false;
  }
}
