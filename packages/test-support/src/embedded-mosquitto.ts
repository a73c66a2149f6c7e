// mosquitto_sub and mosquitto_pub against the embedded broker.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { type BrokerFixture, type TestDevice, titleOf } from './embedded-broker.ts';
import { eventually } from './eventually.ts';
import { type Obstacle, obstacleIn } from './requires.ts';

export function mosquittoObstacle(): Obstacle {
  return obstacleIn('sh', ['-c', 'command -v mosquitto_sub && command -v mosquitto_pub && command -v stdbuf']);
}

export interface Received {
  qos: number;
  retained: boolean;
  title: string;
}

export class MosquittoSub {
  readonly received: Received[] = [];
  readonly ended: Promise<number | null>;
  readonly #process: ChildProcess;
  #isSubscribed = false;

  constructor(t: TestContext, { port }: BrokerFixture, device: TestDevice, ...args: string[]) {
    const credentials = ['-h', '127.0.0.1', '-p', String(port), '-u', device.id, '-P', device.secret];
    const format = ['-d', '-F', 'MESSAGE %q %r %p'];
    // By default it writes to a pipe in blocks, not line by line.
    const command = ['-oL', 'mosquitto_sub', ...credentials, ...format, ...args];
    this.#process = spawn('stdbuf', command, { stdio: ['ignore', 'pipe', 'ignore'] });
    this.ended = new Promise((resolve) => this.#process.once('close', resolve));
    t.after(() => this.stop());
    createInterface({ input: this.#process.stdout as NodeJS.ReadableStream }).on('line', (line) => this.#read(line));
  }

  async subscribed(): Promise<this> {
    await eventually('mosquitto_sub has subscribed', 5000, () => this.#isSubscribed, Boolean);
    return this;
  }

  async titles(count: number): Promise<string[]> {
    const received = await eventually(
      `mosquitto_sub got ${count} messages`,
      10_000,
      () => this.received,
      ({ length }) => length >= count,
    );
    return received.map(({ title }) => title);
  }

  /** SIGTERM, so that it sends DISCONNECT. */
  async stop(): Promise<void> {
    this.#process.kill();
    await this.ended;
  }

  #read(line: string): void {
    const [, qos, retained, payload] = /^MESSAGE (\d) (\d) (.*)$/.exec(line) ?? [];
    if (payload !== undefined)
      this.received.push({ qos: Number(qos), retained: retained === '1', title: titleOf(payload) });
    else if (/received SUBACK/.test(line)) this.#isSubscribed = true;
  }
}

/** Returns the exit code. */
export function mosquittoPub({ port }: BrokerFixture, device: TestDevice, ...args: string[]): Promise<number | null> {
  const credentials = ['-h', '127.0.0.1', '-p', String(port), '-u', device.id, '-P', device.secret];
  const child = spawn('mosquitto_pub', [...credentials, ...args], { stdio: 'ignore' });
  return new Promise((resolve) => child.once('close', resolve));
}
