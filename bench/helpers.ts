// The processes that the bench runs beside the gateways.
import { Child } from './child.ts';
import { adopt } from './clean-up.ts';
import type { BenchEnvironment } from './environment.ts';
import type { OpenJob } from './store-client.ts';

export function startChild(module: string): Promise<Child> {
  return adopt(
    () => new Child(module),
    (child) => child.end(),
  );
}

export async function startEcho(): Promise<{ port: number; pid: number }> {
  const echo = await startChild('./echo-server.ts');
  return { port: await echo.ask<number>(), pid: echo.pid };
}

export async function startStoreClient({ installation, store }: BenchEnvironment): Promise<Child> {
  const client = await startChild('./store-client.ts');
  await client.ask({ kind: 'open', dataDir: installation.dataDir, databaseUrl: store.databaseUrl } satisfies OpenJob);
  return client;
}
