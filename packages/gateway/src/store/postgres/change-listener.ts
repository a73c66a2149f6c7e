// Listens for changes by any process (LISTEN/NOTIFY) on a connection of its own, and reconnects when it is lost.
import { Client, type ClientConfig } from 'pg';

/** A trigger on the table `changes` notifies here. */
export const changeChannel = 'tocsin_changes';

const queryMs = 2000;
const firstDelayMs = 100;
const maxDelayMs = 3000;

export class ChangeListener {
  readonly #config: ClientConfig;
  readonly #onChange: () => void;
  #client: Client | null = null;
  #delayMs = firstDelayMs;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(config: ClientConfig, onChange: () => void) {
    this.#config = { ...config, query_timeout: queryMs };
    this.#onChange = onChange;
    void this.#connect();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#client?.connection.stream.destroy();
  }

  async #connect(): Promise<void> {
    const client = new Client(this.#config);
    this.#client = client;
    client.on('error', () => this.#lose(client));
    client.on('end', () => this.#lose(client));
    client.on('notification', this.#onChange);
    try {
      await client.connect();
      await client.query(`LISTEN ${changeChannel}`);
      this.#delayMs = firstDelayMs;
      // Notifications before LISTEN were missed.
      this.#onChange();
    } catch {
      this.#lose(client);
    }
  }

  /** No error is reported: the directory polls anyway. */
  #lose(client: Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    client.connection.stream.destroy();
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#connect(), this.#delayMs * (0.5 + Math.random() / 2));
    this.#delayMs = Math.min(this.#delayMs * 2, maxDelayMs);
  }
}
