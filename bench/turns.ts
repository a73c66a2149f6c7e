// The longest turn of the event loop of a server that runs with the probe, while something is done to it.
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type LongestTurn, probePath } from './turn-probe.ts';

/** Options of Node that load the probe into a server; they stand before its program. */
export const probeOptions = ['--import', fileURLToPath(new URL('./turn-probe.ts', import.meta.url))];

/** Messages to devices leave after the response. */
const afterwardsMs = 20;

export async function measureTurns<T>(pid: number, work: () => Promise<T>): Promise<LongestTurn & { result: T }> {
  const socket = connect({ path: probePath(pid), allowHalfOpen: true });
  await once(socket, 'data');
  try {
    const result = await work();
    await delay(afterwardsMs);
    const report = text(socket);
    socket.end();
    return { ...(JSON.parse(await report) as LongestTurn), result };
  } finally {
    socket.destroy();
  }
}
