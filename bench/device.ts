// An MQTT device of the owner in a separate process: subscribes, acknowledges, and counts each message once.
import { connectAsync } from 'mqtt';

export interface DeviceJob {
  url: string;
  username: string;
  password: string;
  topic: string;
}

const received = new Set<string>();

/** A message begins with its id: `{"id":"` and 36 characters. */
const idOf = (message: Buffer): string => message.toString('latin1', 7, 43);

process.on('message', async (job: DeviceJob | 'count') => {
  if (job === 'count') {
    process.send?.(received.size);
    return;
  }
  const { url, username, password, topic } = job;
  // A persistent session makes every broker queue the messages that the device misses.
  const client = await connectAsync(url, { username, password, clean: false, clientId: 'bench-device' });
  client.on('message', (_, message) => received.add(idOf(message)));
  await client.subscribeAsync(topic, { qos: 1 });
  process.send?.('listening');
});
process.on('disconnect', () => process.exit());
