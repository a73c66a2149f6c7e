// Stands for all devices of an owner, in a process of its own, with a session that outlives the broker: notes what
// arrives for each of them, and in which order. Titles are the numbers of the notifications; others are not counted.
import { connectAsync } from 'mqtt';

export interface ReceiverJob {
  url: string;
  /** With a wildcard in the place of the device. */
  topic: string;
  /** Tells once so many different ones have arrived. */
  expected: number;
}

export interface Receipt {
  received: number;
  /** Arrived more than once. */
  repeated: number;
  /** Arrived after one of the same device that was accepted later. */
  late: number;
  /** Milliseconds of the wall clock. */
  firstAt: number;
  lastAt: number;
  /** In each second since the first. */
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
  // The broker goes away on purpose.
  client.on('error', () => undefined);
  await client.subscribeAsync(topic, { qos: 1 });
}

process.on('message', async (job: ReceiverJob | 'look') => {
  if (job === 'look') {
    process.send?.(receipt);
    return;
  }
  await listen(job);
  process.send?.('listening');
});
process.on('disconnect', () => process.exit());
