// The receiving end in a separate process: a device of the owner over MQTT, or a subscriber of a peer. It records when each
// message arrived for the first time.
import { connectAsync } from 'mqtt';
import { systemMs } from './clock.ts';

export type ListenerJob = MqttJob | StreamJob;

export interface MqttJob {
  kind: 'mqtt';
  url: string;
  username: string;
  password: string;
  topic: string;
}

/** A response without end that has one JSON object per line (`lines`), or a WebSocket with one per message. */
export interface StreamJob {
  kind: 'lines' | 'websocket';
  url: string;
}

export interface Arrivals {
  ids: string[];
  /** Of the system's clock, in the order of arrival. */
  times: Float64Array;
}

const arrivals = new Map<string, number>();

/** Notes the first `id` of a JSON text; Tocsin, ntfy and Gotify write it before any text of the caller. */
function note(text: string): void {
  const id = /"id":"?([^",}]+)/.exec(text)?.[1];
  if (id !== undefined && !arrivals.has(id)) arrivals.set(id, systemMs());
}

async function listen(job: ListenerJob): Promise<void> {
  if (job.kind === 'mqtt') await listenToMqtt(job);
  else if (job.kind === 'lines') await listenToLines(job);
  else await listenToWebSocket(job);
}

async function listenToMqtt({ url, username, password, topic }: MqttJob): Promise<void> {
  // A persistent session makes every broker queue the messages that the device misses.
  const client = await connectAsync(url, { username, password, clean: false, clientId: `bench-${process.pid}` });
  client.on('message', (_, message) => note(message.toString('latin1', 0, 64)));
  await client.subscribeAsync(topic, { qos: 1 });
}

async function listenToLines({ url }: StreamJob): Promise<void> {
  const response = await fetch(url);
  if (!response.ok || response.body === null) throw new Error(`${url} responded with ${response.status}.`);
  const read = async (body: ReadableStream<Uint8Array>): Promise<never> => {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() as string;
      for (const line of lines) note(line);
    }
    throw new Error(`${url} has ended.`);
  };
  void read(response.body);
}

async function listenToWebSocket({ url }: StreamJob): Promise<void> {
  const socket = new WebSocket(url);
  socket.addEventListener('message', ({ data }) => note(String(data)));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('The WebSocket of the listener failed.')));
  });
}

process.on('message', async (job: ListenerJob | 'count' | 'take') => {
  if (job === 'count') {
    process.send?.(arrivals.size);
    return;
  }
  if (job === 'take') {
    process.send?.({ ids: [...arrivals.keys()], times: Float64Array.from(arrivals.values()) } satisfies Arrivals);
    arrivals.clear();
    return;
  }
  await listen(job);
  process.send?.('listening');
});
process.on('disconnect', () => process.exit());
