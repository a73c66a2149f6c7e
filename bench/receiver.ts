// Represents all devices of an owner in a separate process, with a session that survives a restart of the broker.
// Records what arrives for each of them, and in which order. Titles are the numbers of the notifications; others are
// not counted.
import { connectAsync } from 'mqtt';

export interface ReceiverJob {
  url: string;
  /** Topic filter with a wildcard in place of the device. */
  topic: string;
  /** Reports when this number of different messages has arrived. */
  expected: number;
}

export interface Receipt {
  received: number;
  /** Messages that arrived more than once. */
  repeated: number;
  /** Messages that arrived after one for the same device that was accepted later. */
  late: number;
  /** Wall clock time in milliseconds. */
  firstAt: number;
  lastAt: number;
  /** Arrivals in each second since the first. */
  bySecond: number[];
}

const reconnectMs = 100;
const newestOf = new Map<string, number>();
const seen = new Set<string>();
const receipt: Receipt = { received: 0, repeated: 0, late: 0, firstAt: 0, lastAt: 0, bySecond: [] };

async function listen({ url, topic, expected }: ReceiverJob): Promise<void> {
  const client = await connectAsync(url, { clientId: 'bench-receiver', clean: false, reconnectPeriod: reconnectMs });
  client.on('message', (device, payload) => {
    const now = Date.now();
    const number = Number((JSON.parse(payload.toString()) as { title: string }).title);
    if (!Number.isInteger(number)) return;
    const name = `${device} ${number}`;
    if (seen.has(name)) {
      receipt.repeated += 1;
      return;
    }
    seen.add(name);
    if (number < (newestOf.get(device) ?? -1)) receipt.late += 1;
    else newestOf.set(device, number);
    if (receipt.received === 0) receipt.firstAt = now;
    receipt.received += 1;
    receipt.lastAt = now;
    const second = Math.floor((now - receipt.firstAt) / 1000);
    while (receipt.bySecond.length <= second) receipt.bySecond.push(0);
    receipt.bySecond[second] = (receipt.bySecond[second] as number) + 1;
    if (receipt.received === expected) process.send?.(receipt);
  });
  // The broker is stopped on purpose.
  client.on('error', () => undefined);
  await client.subscribeAsync(topic, { qos: 1 });
}

process.on('message', async (job: ReceiverJob | 'status') => {
  if (job === 'status') {
    process.send?.(receipt);
    return;
  }
  await listen(job);
  process.send?.('listening');
});
process.on('disconnect', () => process.exit());
