import type { BrowserContext, ConsoleMessage } from 'playwright-core';

/** Collects errors, Content-Security-Policy violations and requests to other hosts, in all pages and workers. */
export function watchPages(context: BrowserContext, hosts: ReadonlySet<string>, expected: RegExp[]): string[] {
  const problems: string[] = [];
  const look = (message: ConsoleMessage): void => {
    // Chromium also logs policy violations and error statuses of responses as errors.
    if (message.type() !== 'error' || expected.some((each) => each.test(message.text()))) return;
    problems.push(`console: ${message.text()} (${message.location().url})`);
  };
  context.on('console', look);
  context.on('serviceworker', (worker) => worker.on('console', look));
  context.on('weberror', (error) => problems.push(`uncaught: ${error.error().stack ?? error.error().message}`));
  context.on('request', (request) => {
    const { protocol, host } = new URL(request.url());
    if (/^https?:$/.test(protocol) && !hosts.has(host)) problems.push(`request to ${host}: ${request.url()}`);
  });
  return problems;
}
