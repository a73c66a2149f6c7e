// Sends the hostile bodies with a valid key, one at a time, and measures the time until the response is complete.
import { Agent, request } from 'node:http';
import { type HostileBody, hostileBodies } from './hostile-bodies.ts';

const repeats = 5;

export interface HostileResult {
  name: string;
  bytes: number;
  status: number;
  responseBytes: number;
  medianMs: number;
  maxMs: number;
}

interface Timing {
  status: number;
  responseBytes: number;
  ms: number;
}

/** Slowest first. */
export async function measureHostile(target: { port: number; key: string }): Promise<HostileResult[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const results: HostileResult[] = [];
  for (const body of hostileBodies()) {
    const bytes = Buffer.from(body.text);
    await time(agent, target, body, bytes);
    const timings: Timing[] = [];
    for (let count = 0; count < repeats; count += 1) timings.push(await time(agent, target, body, bytes));
    timings.sort((left, right) => left.ms - right.ms);
    const median = timings[Math.floor(repeats / 2)] as Timing;
    const slowest = timings.at(-1) as Timing;
    const { status, responseBytes } = slowest;
    results.push({
      name: body.name,
      bytes: bytes.length,
      status,
      responseBytes,
      medianMs: median.ms,
      maxMs: slowest.ms,
    });
  }
  agent.destroy();
  return results.sort((left, right) => right.maxMs - left.maxMs);
}

function time(
  agent: Agent,
  { port, key }: { port: number; key: string },
  { contentType }: HostileBody,
  bytes: Buffer,
): Promise<Timing> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': contentType, 'Content-Length': bytes.length };
  return new Promise((resolve, reject) => {
    const sentAt = performance.now();
    const sent = request({ agent, host: '127.0.0.1', port, method: 'POST', headers }, (response) => {
      let responseBytes = 0;
      response.on('data', (chunk: Buffer) => {
        responseBytes += chunk.length;
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, responseBytes, ms: performance.now() - sentAt }),
      );
    });
    sent.on('error', reject);
    sent.end(bytes);
  });
}
