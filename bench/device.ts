// An MQTT device of the owner, in a process of its own: it listens, acknowledges and counts.
import { connectAsync } from 'mqtt';

export interface DeviceJob {
  url: string;
  username: string;
  password: string;
  topic: string;
}

let received = 0;

process.on('message', async (job: DeviceJob | 'count') => {
  if (job === 'count') {
    process.send?.(received);
    return;
  }
  const { url, username, password, topic } = job;
  const client = await connectAsync(url, { username, password });
  client.on('message', () => {
    received += 1;
  });
  await client.subscribeAsync(topic, { qos: 1 });
  process.send?.('listening');
});
process.on('disconnect', () => process.exit());
