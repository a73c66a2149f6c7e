// A real WordPress site and a real gateway on 127.0.0.1. The companion is connected with a key that requires signatures.
import { rmSync } from 'node:fs';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { findFreePort } from '@tocsin/test-support/mosquitto.ts';
import { readAll, type StoredNotification, withStore } from '@tocsin/test-support/stored-notifications.ts';
import { atExit } from './at-exit.ts';
import { type SiteOptions, WordPressSite } from './wordpress-site.ts';

export class ConnectedSite {
  readonly site: WordPressSite;
  readonly installation: Installation;
  readonly url: string;
  readonly key: string;
  readonly #running: { gateway: GatewayProcess };
  readonly #cancelCleanUp: () => void;

  private constructor(
    parts: Pick<ConnectedSite, 'site' | 'installation' | 'key'>,
    running: { gateway: GatewayProcess },
    cancelCleanUp: () => void,
  ) {
    this.site = parts.site;
    this.installation = parts.installation;
    this.key = parts.key;
    this.url = running.gateway.api;
    this.#running = running;
    this.#cancelCleanUp = cancelCleanUp;
  }

  /** The gateway has a fixed port, so that it can be restarted. */
  static async create(options: SiteOptions = {}): Promise<ConnectedSite> {
    const installation = await Installation.create({ TOCSIN_PORT: String(await findFreePort()) });
    const running = { gateway: installation.beginToServe() };
    const cancelCleanUp = atExit(() => {
      running.gateway.child.kill('SIGKILL');
      rmSync(installation.dataDir, { recursive: true, force: true, maxRetries: 5 });
    });
    try {
      const [site] = await Promise.all([WordPressSite.create(options), running.gateway.ready()]);
      const { key } = await installation.json<{ key: string }>('key', 'create', '--require-signature');
      site.define({ TOCSIN_URL: running.gateway.api, TOCSIN_KEY: key });
      return new ConnectedSite({ site, installation, key }, running, cancelCleanUp);
    } catch (error) {
      await installation.remove();
      throw error;
    }
  }

  get gateway(): GatewayProcess {
    return this.#running.gateway;
  }

  async restartGateway(): Promise<void> {
    this.#running.gateway = await this.installation.serve();
  }

  /** Returns the stored notifications, oldest first. */
  received(): Promise<StoredNotification[]> {
    return withStore(this.installation.dataDir, async (store) => {
      const [owner] = await store.owners.list();
      return (await readAll(store, owner?.id ?? '')).notifications.reverse();
    });
  }

  /** Runs PHP as one request, then sends the queued events. Returns the result of the PHP code. */
  async fire<T>(code: string, input: unknown = null): Promise<T> {
    const result = await this.site.php<T>(code, input);
    await this.runQueue();
    return result;
  }

  /** Sends due events. Waits while another process sends, at most until the lease of a killed process expires. */
  async runQueue(): Promise<void> {
    await eventually(
      'the queue is run',
      70_000,
      () => this.site.php<{ reason: string }>('return Tocsin_Companion::get_instance()->runner()->run();'),
      ({ reason }) => reason !== 'busy',
    );
  }

  /** Stops the web server of the site, but not during a run, whose lock would remain for a minute. */
  async stopServing(): Promise<void> {
    await this.runQueue();
    await this.site.stopServing();
  }

  async remove(): Promise<void> {
    await this.installation.remove();
    this.#cancelCleanUp();
    await this.site.remove();
  }
}
