// mosquitto_sub: a receiver that shares no code with ours.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { eventually } from './eventually.ts';

export interface ReceivedMessage {
  topic: string;
  qos: number;
  retained: boolean;
  /** MQTT 5 only; empty otherwise. */
  contentType: string;
  /** In seconds; MQTT 5 only. */
  expiry: number;
  payload: string;
}

const waitMs = 10_000;

export class Subscriber {
  readonly received: ReceivedMessage[] = [];
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  /** Resolves once the broker has confirmed the subscription. */
  static async start(port: number, topic: string, args: string[] = ['-V', '5']): Promise<Subscriber> {
    const format = 'MESSAGE\t%t\t%q\t%r\t%C\t%E\t%p';
    const child = spawn(
      'stdbuf',
      // By default it writes to a pipe in blocks, not line by line.
      [
        '-oL',
        'mosquitto_sub',
        '-d',
        '-h',
        '127.0.0.1',
        '-p',
        String(port),
        '-t',
        topic,
        '-q',
        '2',
        '-F',
        format,
        ...args,
      ],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    const subscriber = new Subscriber(child);
    const subscribed = new Promise<void>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`mosquitto_sub ended with ${code}`)));
      createInterface({ input: child.stdout }).on('line', (line) => {
        if (line.startsWith('Subscribed (')) resolve();
        const [mark, topic = '', qos, retained, contentType = '', expiry, ...payload] = line.split('\t');
        if (mark !== 'MESSAGE') return;
        subscriber.received.push({
          topic,
          qos: Number(qos),
          retained: retained === '1',
          contentType,
          expiry: Number(expiry),
          payload: payload.join('\t'),
        });
      });
    });
    await subscribed;
    return subscriber;
  }

  /** The first `count` messages. */
  async take(count: number): Promise<ReceivedMessage[]> {
    await eventually(
      `${count} messages at mosquitto_sub`,
      waitMs,
      () => this.received.length,
      (n) => n >= count,
    );
    return this.received;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exited;
  }
}

/** Its session survives a restart of the broker, so that nothing is missed while it reconnects. */
export async function startPhone(t: TestContext, port: number, owner: string, device: string): Promise<Subscriber> {
  const phone = await Subscriber.start(port, `tocsin/${owner}/${device}/notifications`, ['-c', '-i', 'phone']);
  t.after(() => phone.stop());
  return phone;
}
