// A real SMTP server in this process that can simulate failures.
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** Part of every refusal of the server, beside data that a real one might quote. It must not appear in any output. */
export const serverText = 'canary-of-the-server';

type Step = 'greeting' | 'mail' | 'rcpt' | 'data';

export interface ReceivedEmail {
  raw: string;
  from: string;
  recipients: string[];
  isSecure: boolean;
  user: string | null;
  authMethod: string | null;
}

export class TestSmtpServer {
  readonly emails: ReceivedEmail[] = [];
  /** A step → the status code of its refusal, or 'stall' for no response. */
  readonly faults: Partial<Record<Step, number | 'stall'>> = {};
  /** Delay for each email. */
  latencyMs = 0;
  /** Data that clients sent without TLS. */
  transcript = '';
  connectionCount = 0;
  port = 0;
  readonly #options: SMTPServerOptions;
  readonly #sockets = new Set<Socket>();
  readonly #authMethods = new Map<string, string>();
  #stalled: (() => void)[] = [];
  #onStall: (() => void)[] = [];
  #server: SMTPServer | undefined;

  constructor(options: SMTPServerOptions & { users?: Record<string, string> }) {
    const { users, ...rest } = options;
    this.#options = {
      ...(users === undefined ? { disabledCommands: ['AUTH', ...(rest.key === undefined ? ['STARTTLS'] : [])] } : {}),
      allowInsecureAuth: true,
      // Reverse lookups would need the network.
      disableReverseLookup: true,
      logger: false,
      onConnect: (_session, callback) => this.#step('greeting', callback),
      onMailFrom: (_address, _session, callback) => this.#step('mail', callback),
      onRcptTo: (_address, _session, callback) => this.#step('rcpt', callback),
      onAuth: ({ username = '', password, method }, session, callback) => {
        if (users?.[username] !== password) {
          callback(new Error(`${serverText} ${username} ${password}`));
          return;
        }
        this.#authMethods.set(session.id, method);
        callback(null, { user: username });
      },
      onData: async (stream, session, callback) => {
        // null: the client disconnected before the end.
        const raw = await text(stream).catch(() => null);
        if (raw === null) return;
        if (this.latencyMs > 0) await delay(this.latencyMs);
        this.#step('data', (error) => {
          if (error === undefined) {
            this.emails.push({
              raw,
              from: session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address,
              recipients: session.envelope.rcptTo.map(({ address }) => address),
              isSecure: session.secure,
              user: typeof session.user === 'string' ? session.user : null,
              authMethod: this.#authMethods.get(session.id) ?? null,
            });
          }
          callback(error);
        });
      },
      ...rest,
    };
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  /** After a stop it uses the same port again. */
  async start(): Promise<void> {
    const server = new SMTPServer(this.#options);
    // Clients that disconnect, or reject the certificate, cause errors.
    server.on('error', () => undefined);
    server.server.on('connection', (socket: Socket) => {
      this.connectionCount++;
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      if (this.#options.secure !== true) socket.on('data', (chunk) => (this.transcript += chunk.toString('latin1')));
    });
    server.listen(this.port, '127.0.0.1');
    await once(server.server, 'listening');
    this.port = (server.server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Closes the server and all connections at once. */
  async kill(): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#server?.close(() => closed.resolve());
    this.dropConnections();
    await closed.promise;
  }

  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Resolves when this number of clients is waiting. */
  async stalls(count: number): Promise<void> {
    while (this.#stalled.length < count) await new Promise<void>((resolve) => this.#onStall.push(resolve));
  }

  /** Clears the faults and continues stalled commands. */
  resume(): void {
    for (const step of Object.keys(this.faults) as Step[]) delete this.faults[step];
    this.proceed();
  }

  /** Continues stalled commands; the faults remain. */
  proceed(): void {
    for (const goOn of this.#stalled.splice(0)) goOn();
  }

  #step(step: Step, callback: (error?: Error) => void): void {
    const fault = this.faults[step];
    if (fault === undefined) callback();
    else if (fault === 'stall') {
      this.#stalled.push(() => callback());
      for (const notice of this.#onStall.splice(0)) notice();
    } else callback(Object.assign(new Error(`5.1.1 ${serverText}`), { responseCode: fault }));
  }
}

export async function startSmtpServer(
  options: SMTPServerOptions & { users?: Record<string, string> } = {},
): Promise<TestSmtpServer> {
  const server = new TestSmtpServer(options);
  await server.start();
  return server;
}
