// Hears of changes that any process made, through NOTIFY, on a connection of its own that is made again when it is lost.
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
      // What happened while nobody listened was missed.
      this.#onChange();
    } catch {
      this.#lose(client);
    }
  }

  /** Nobody is told: whoever relies on this looks for changes now and then without being asked to. */
  #lose(client: Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    client.connection.stream.destroy();
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#connect(), this.#delayMs * (0.5 + Math.random() / 2));
    this.#delayMs = Math.min(this.#delayMs * 2, maxDelayMs);
  }
}
