// How much memory a server needs: before it has work, and under full load with a device. docs/sizing.md has the figures.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Installation } from '@tocsin/test-support/gateway-process.ts';
import { Child } from '../../../bench/child.ts';
import { startGateway } from '../../../bench/gateway.ts';
import type { LoadResult } from '../../../bench/load.ts';
import { residentMegabytes } from '../../../bench/processes.ts';
import { notificationRequest } from '../../../bench/request.ts';

/** Above what was measured, 98 and 220 MB: Node, the system and the rate of requests decide about the rest. */
const idleMegabytes = 105;
const loadedMegabytes = 270;
/** After the first one the caches are full and the code is compiled. */
const minutes = 3;

test('A server stays below its limits of memory, idle and under load', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const installation = await Installation.create({ TOCSIN_QUOTA_ROWS_PER_DAY: '0', TOCSIN_QUOTA_BYTES_PER_DAY: '0' });
  t.after(() => installation.remove());
  const { key, device, nodes } = await startGateway(installation, { hasDevice: true });
  const [{ pid, port }] = nodes;
  const megabytes = async (): Promise<number> => Number(await residentMegabytes([pid]));
  const idle = await megabytes();
  t.diagnostic(`idle: ${idle.toFixed()} MB`);
  assert.ok(idle <= idleMegabytes, `${idle} MB when idle`);

  const listener = new Child('./listener.ts');
  const load = new Child('./load.ts');
  t.after(() => [listener, load].map((child) => child.end()));
  await listener.ask(device);
  for (let minute = 1; minute <= minutes; minute += 1) {
    const { requests, errors, firstError } = await load.ask<LoadResult>({
      targets: [{ port, request: notificationRequest(port, key) }],
      ...{ mustContain: '"mqttPublishedCount":1', connections: 64, seconds: 60 },
    });
    assert.equal(errors, 0, String(firstError));
    const loaded = await megabytes();
    t.diagnostic(`minute ${minute}: ${requests} notifications, ${loaded.toFixed()} MB`);
    assert.ok(loaded <= loadedMegabytes, `${loaded} MB after ${minute} min of load`);
  }
});
