// Only one node on a database may run the embedded broker: a device that is connected to one node does not get notifications
// that another node accepts. Each node with a broker tries to get the same advisory lock on a connection of its own. A node
// that does not get it reports that, and tries again until the other node has stopped.
import { Client, type ClientConfig } from 'pg';

/** "tcsb" in ASCII, and the schema, since one database may contain several installations. */
const tryLock = 'SELECT pg_try_advisory_lock(1952674658, hashtext(current_schema())) AS mine';

const retryMs = 3000;
const queryMs = 2000;

export class BrokerClaim {
  readonly #config: ClientConfig;
  readonly #onShared: (isShared: boolean) => void;
  #client: Client | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isShared = false;
  #isClosed = false;

  /** `onShared` is called when another node has the lock, and when this node gets it. */
  constructor(config: ClientConfig, onShared: (isShared: boolean) => void) {
    this.#config = { ...config, query_timeout: queryMs };
    this.#onShared = onShared;
    void this.#tryLock();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#client?.connection.stream.destroy();
  }

  async #tryLock(): Promise<void> {
    try {
      const client = await this.#connected();
      const { rows } = await client.query<{ mine: boolean }>(tryLock);
      if (this.#isClosed) return;
      const isMine = rows[0]?.mine === true;
      if (this.#isShared === isMine) {
        this.#isShared = !isMine;
        this.#onShared(this.#isShared);
      }
      // The lock is held by the connection; if the connection is lost, it is requested again.
      if (isMine) return;
    } catch {
      // An unreachable database is reported by the operations that need it.
      this.#client?.connection.stream.destroy();
    }
    this.#retryLater();
  }

  async #connected(): Promise<Client> {
    if (this.#client !== null) return this.#client;
    const client = new Client(this.#config);
    this.#client = client;
    const lose = (): void => {
      if (this.#client !== client) return;
      this.#client = null;
      client.connection.stream.destroy();
      this.#retryLater();
    };
    client.on('error', lose).on('end', lose);
    await client.connect();
    return client;
  }

  #retryLater(): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#tryLock(), retryMs);
  }
}
