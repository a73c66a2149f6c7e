// Fetches pages of the inbox as the app does: over the console API, one request at a time, with the unread count.
import type { InboxListing } from '@tocsin/contract/console';
import { type ConsoleClient, signInAtFirstRun } from '@tocsin/test-support/console-client.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { percentile } from './figures.ts';
import type { PagesResult, WalkResult } from './store-client.ts';

export interface ConsolePages {
  rows: number;
  first: PagesResult;
  /** A notification in the middle: about as many are newer as are older. */
  middle: PagesResult;
}

const pageRows = 50;
const warmUpPages = 50;
const timedPages = 300;

export async function openConsolePages(gateway: GatewayProcess): Promise<(inbox: WalkResult) => Promise<ConsolePages>> {
  const client = await signInAtFirstRun(gateway);
  return async ({ rows, middle }) => ({
    rows,
    first: await timePages(client, ''),
    middle: await timePages(client, `&before=${middle}`),
  });
}

async function timePages(client: ConsoleClient, from: string): Promise<PagesResult> {
  const latencies = new Float64Array(timedPages);
  for (let index = -warmUpPages; index < timedPages; index += 1) {
    const startedAt = performance.now();
    const { status, body } = await client.get<InboxListing>(`/api/notifications?limit=${pageRows}${from}`);
    const ms = performance.now() - startedAt;
    if (status !== 200 || body.notifications.length !== pageRows || body.damaged > 0) {
      throw new Error(`A page of the console had status ${status} and ${body.notifications?.length} rows.`);
    }
    if (index >= 0) latencies[index] = ms;
  }
  latencies.sort();
  return { p50Ms: percentile(latencies, 0.5), p99Ms: percentile(latencies, 0.99) };
}
