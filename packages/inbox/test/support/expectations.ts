// Expectations for every page.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

interface AxeFinding {
  id: string;
  impact: 'minor' | 'moderate' | 'serious' | 'critical';
  help: string;
  nodes: { target: string[]; failureSummary: string }[];
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** axe reports no serious violation; `within` limits it to a part of the page. */
export async function expectAccessible(page: Page, within = 'html'): Promise<void> {
  // The DevTools protocol can run scripts that the Content-Security-Policy of the page forbids.
  const session = await page.context().newCDPSession(page);
  try {
    await session.send('Runtime.evaluate', { expression: axe });
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      expression: `axe.run(${JSON.stringify(within)}, { resultTypes: ['violations'] }).then(({ violations }) => JSON.stringify(violations))`,
      awaitPromise: true,
    });
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    const found = (JSON.parse(result.value) as AxeFinding[]).filter(
      ({ impact }) => impact === 'serious' || impact === 'critical',
    );
    assert.equal(found.length, 0, `axe at ${page.url()}:\n${found.map(describeFinding).join('\n')}`);
  } finally {
    await session.detach();
  }
}

function describeFinding({ id, impact, help, nodes }: AxeFinding): string {
  const places = nodes.map(({ target, failureSummary }) => `    ${target.join(' ')}: ${failureSummary}`);
  return `  ${impact}: ${help} (${id})\n${places.join('\n')}`;
}

/** The page is not wider than the window. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  // A string, because the WordPress tests use this too and are type-checked without DOM types.
  const { wide, window: width } = await page.evaluate<{ wide: number; window: number }>(
    '({ window: document.documentElement.clientWidth, wide: document.documentElement.scrollWidth })',
  );
  assert.ok(wide <= width, `${page.url()} is ${wide} px wide in a window of ${width} px`);
}
