// The processes that the bench puts beside the gateways.
import { Child } from './child.ts';
import { adopt } from './clean-up.ts';
import type { House } from './house.ts';
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

export async function startStoreClient({ installation, store }: House): Promise<Child> {
  const client = await startChild('./store-client.ts');
  await client.ask({ kind: 'open', dataDir: installation.dataDir, databaseUrl: store.databaseUrl } satisfies OpenJob);
  return client;
}
