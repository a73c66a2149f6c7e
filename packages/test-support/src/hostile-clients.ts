// Runs as a separate process: connections that send requests and read no responses, or send bodies without a key.
// After its instructions, it sends 'open' when every connection has sent its opening, and then holds them until it is killed.
import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';

export interface Attack {
  port: number;
  isSecure: boolean;
  connections: number;
  /** Sent at once, as far as the peer reads it. */
  opening: string;
  /** Sent again whenever the socket accepts more, or at an interval. */
  repeated?: string;
  everyMs?: number;
  /** Number of bytes to read every second; by default none. */
  readPerSecond?: number;
}

export type HostileOrder = Attack[];
export type HostileReport = { event: 'open'; opened: number };

const connectingAtOnce = 50;

if (process.send !== undefined) process.once('message', (order: HostileOrder) => void run(order));

async function run(order: HostileOrder): Promise<void> {
  let opened = 0;
  for (const attack of order) {
    let left = attack.connections;
    const openOneAfterAnother = async (): Promise<void> => {
      while (left-- > 0) if (await open(attack)) opened += 1;
    };
    await Promise.all(Array.from({ length: connectingAtOnce }, openOneAfterAnother));
  }
  process.send?.({ event: 'open', opened } satisfies HostileReport);
  // The server may close every connection; this process ends when it is killed.
  setInterval(() => undefined, 60_000);
}

/** Resolves with false if the server closed the connection before the opening was sent. */
function open({ port, isSecure, opening, repeated, everyMs, readPerSecond }: Attack): Promise<boolean> {
  const host = '127.0.0.1';
  const socket: Socket = isSecure
    ? connectSecurely({ port, host, rejectUnauthorized: false })
    : connect({ port, host });
  return new Promise((resolve) => {
    socket.on('error', () => socket.destroy());
    socket.once('close', () => resolve(false));
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      socket.pause();
      if (readPerSecond !== undefined) readSlowly(socket, readPerSecond);
      socket.write(opening, 'latin1', () => resolve(true));
      if (repeated !== undefined) repeat(socket, repeated, everyMs);
      // Does not wait if the peer does not read.
      setTimeout(() => resolve(true), 1000);
    });
  });
}

function repeat(socket: Socket, text: string, everyMs: number | undefined): void {
  if (everyMs !== undefined) {
    const timer = setInterval(() => socket.write(text, 'latin1'), everyMs);
    socket.once('close', () => clearInterval(timer));
    return;
  }
  const more = (): void => {
    while (!socket.destroyed && socket.write(text, 'latin1'));
  };
  socket.on('drain', more);
  more();
}

function readSlowly(socket: Socket, bytes: number): void {
  const timer = setInterval(() => socket.read(bytes), 1000);
  socket.on('readable', () => undefined);
  socket.once('close', () => clearInterval(timer));
}
