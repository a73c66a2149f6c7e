// Only one node on a database may run the embedded broker: a device that is connected to one node does not get what
// another accepts. Each node that runs one asks for the same lock, on a connection of its own; whoever does not get it says
// so, and asks again until the other node has stopped.
import { Client, type ClientConfig } from 'pg';

/** "tcsb" in ASCII; with the schema, since one database may hold several installations. */
const askForLock = 'SELECT pg_try_advisory_lock(1952674658, hashtext(current_schema())) AS mine';

const askAgainMs = 3000;
const queryMs = 2000;

export class BrokerClaim {
  readonly #config: ClientConfig;
  readonly #onShared: (isShared: boolean) => void;
  #client: Client | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isShared = false;
  #isClosed = false;

  /** `onShared` hears when another node has the claim, and when that is over. */
  constructor(config: ClientConfig, onShared: (isShared: boolean) => void) {
    this.#config = { ...config, query_timeout: queryMs };
    this.#onShared = onShared;
    void this.#ask();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#client?.connection.stream.destroy();
  }

  async #ask(): Promise<void> {
    try {
      const client = await this.#connected();
      const { rows } = await client.query<{ mine: boolean }>(askForLock);
      if (this.#isClosed) return;
      const isMine = rows[0]?.mine === true;
      if (this.#isShared === isMine) {
        this.#isShared = !isMine;
        this.#onShared(this.#isShared);
      }
      // The lock stays with the connection, and is asked for again when that is lost.
      if (isMine) return;
    } catch {
      // A database that cannot be reached is found out, and told of, by whoever needs it.
      this.#client?.connection.stream.destroy();
    }
    this.#askLater();
  }

  async #connected(): Promise<Client> {
    if (this.#client !== null) return this.#client;
    const client = new Client(this.#config);
    this.#client = client;
    const lose = (): void => {
      if (this.#client !== client) return;
      this.#client = null;
      client.connection.stream.destroy();
      this.#askLater();
    };
    client.on('error', lose).on('end', lose);
    await client.connect();
    return client;
  }

  #askLater(): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#ask(), askAgainMs);
  }
}
