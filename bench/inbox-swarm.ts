// Many open inboxes in one process: bare sockets that read the event stream of the console as a signed-in browser does.
import { connect } from 'node:net';
import { serveSwarm } from './swarm.ts';

export interface SwarmInbox {
  /** The value of the session cookie. */
  session: string;
}

function openInbox(port: number, { session }: SwarmInbox, arrived: (id: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('utf8');
    let isOpen = false;
    let text = '';
    socket.on('connect', () => {
      const host = `127.0.0.1:${port}`;
      const head = ['GET /api/events HTTP/1.1', `Host: ${host}`, `Origin: http://${host}`, `Cookie: tocsin=${session}`];
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
    });
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (!isOpen && !text.startsWith('HTTP/1.1 200')) socket.destroy(new Error(text.split('\r\n', 1)[0]));
      // Every event and every position ends with an empty line.
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        isOpen = true;
        resolve();
        const id = /^event: arrived\nid: (.+)$/m.exec(block)?.[1];
        if (id !== undefined) arrived(id);
      }
    });
    socket.on('error', reject);
    socket.on('close', () => {
      if (isOpen) throw new Error('The gateway closed the event stream of an inbox.');
      reject(new Error('closed before the first event'));
    });
  });
}

serveSwarm(openInbox);
