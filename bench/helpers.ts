// The processes that the bench runs beside the gateways.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child } from './child.ts';
import { adopt } from './clean-up.ts';
import type { BenchEnvironment } from './environment.ts';
import type { ListenerJob } from './listener.ts';
import type { OpenJob } from './store-client.ts';

export function startChild(module: string, args: string[] = []): Promise<Child> {
  return adopt(
    () => new Child(module, args),
    (child) => child.end(),
  );
}

export async function startEcho(): Promise<{ port: number; pid: number }> {
  const echo = await startChild('./echo-server.ts');
  return { port: await echo.ask<number>(), pid: echo.pid };
}

export async function startListener(job: ListenerJob): Promise<Child> {
  const listener = await startChild('./listener.ts');
  await listener.ask(job);
  return listener;
}

/** It encrypts with its own key and writes to a file in the folder of the bench. */
export async function startSketch(key: string): Promise<{ port: number; pid: number }> {
  const sketch = await startChild('./sketch-server.ts', [join(tmpdir(), 'sketch.rows'), key]);
  return { port: await sketch.ask<number>(), pid: sketch.pid };
}

export async function startStoreClient({ installation, store }: BenchEnvironment): Promise<Child> {
  const client = await startChild('./store-client.ts');
  await client.ask({ kind: 'open', dataDir: installation.dataDir, databaseUrl: store.databaseUrl } satisfies OpenJob);
  return client;
}
