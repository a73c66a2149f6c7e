// Positions of elements on the screen. Text in the document may still be clipped, outside of the window or covered.
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';

export const viewports = {
  'a small phone': { width: 320, height: 568 },
  'a phone': { width: 390, height: 844 },
  'a tablet': { width: 820, height: 1180 },
  'a desktop': { width: 1280, height: 800 },
} as const;

interface Placement {
  text: string | null;
  box: { x: number; y: number; width: number; height: number };
  isVisible: boolean;
  isInViewport: boolean;
  /** The element drawn at its centre, if that is neither the element itself nor inside it. */
  coveredBy: string | null;
  /** Its text extends beyond its box. */
  isClipped: boolean;
}

/** Runs in the page, for one element or several. */
function placementsOf(found: Element | Element[]): Placement[] {
  return [found].flat().map((element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    const top = document.elementFromPoint(x + width / 2, y + height / 2);
    const isOwn = top !== null && (element.contains(top) || top.contains(element));
    const text = document.createRange();
    text.selectNodeContents(element);
    // Tolerates half a pixel of rounding.
    const isOutside = (inner: DOMRect): boolean =>
      inner.left < x - 0.5 || inner.right > x + width + 0.5 || inner.top < y - 0.5 || inner.bottom > y + height + 0.5;
    return {
      text: element.textContent,
      box: { x, y, width, height },
      isVisible:
        element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && width > 0 && height > 0,
      isInViewport: x >= -0.5 && y >= -0.5 && x + width <= innerWidth + 0.5 && y + height <= innerHeight + 0.5,
      coveredBy: isOwn ? null : `${top?.tagName.toLowerCase() ?? 'nothing'}.${top?.getAttribute('class') ?? ''}`,
      isClipped: [...text.getClientRects()].some(isOutside),
    };
  });
}

async function placementOf(locator: Locator): Promise<Placement> {
  const [placement] = await locator.evaluate(placementsOf);
  return placement as Placement;
}

/** The element is completely inside the viewport without scrolling, and not covered. */
export async function expectOnScreen(locator: Locator, what: string): Promise<void> {
  assertOnScreen(await placementOf(locator), what);
}

/** Every matching element is on the screen. */
export async function expectAllOnScreen(locator: Locator, what: string): Promise<void> {
  for (const placement of await locator.evaluateAll(placementsOf)) {
    assertOnScreen(placement, `${placement.text} ${what}`);
  }
}

function assertOnScreen({ box, isVisible, isInViewport, coveredBy }: Placement, what: string): void {
  const where = `${what} at ${JSON.stringify(box)}`;
  assert.ok(isVisible, `${where} is not visible`);
  assert.ok(isInViewport, `${where} is outside of the viewport`);
  assert.equal(coveredBy, null, `${where} is covered`);
}

/** The element is on the screen after scrolling to it. */
export async function expectInReach(locator: Locator, what: string): Promise<void> {
  await locator.evaluate((element) => element.scrollIntoView({ block: 'center' }));
  await expectOnScreen(locator, what);
}

export async function expectNotClipped(locator: Locator, what: string): Promise<void> {
  const { box, isClipped } = await placementOf(locator);
  assert.ok(!isClipped, `the text of ${what} at ${JSON.stringify(box)} is clipped`);
}

/** The element does not extend beyond the sides of the outer one. */
export async function expectInside(outer: Locator, inner: Locator, what: string): Promise<void> {
  const [around, { box }] = [(await placementOf(outer)).box, await placementOf(inner)];
  const isInside = box.x >= around.x && box.x + box.width <= around.x + around.width;
  assert.ok(isInside, `${what} at ${JSON.stringify(box)} extends beyond ${JSON.stringify(around)}`);
}

/** The number of lines of an element with one text. */
export function countLines(locator: Locator): Promise<number> {
  return locator.evaluate((element) => {
    const text = document.createRange();
    text.selectNodeContents(element);
    return text.getClientRects().length;
  });
}

/** No overlay covers the middle of the window. */
export async function expectPageInTheMiddle(page: Page): Promise<void> {
  const found = await page.evaluate(() => {
    const top = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
    const isOver = top === null || top.closest('.sidebar, .offline-banner, .toasts, dialog') !== null;
    return { isPage: !isOver, name: `${top?.tagName}.${top?.getAttribute('class')}` };
  });
  assert.ok(found.isPage, `${found.name} covers the middle of the window`);
}

/** No control and no text extends beyond the sides of the window, even where overflow is hidden. */
export async function expectInsideWindow(page: Page): Promise<void> {
  const outside = await page.evaluate(() => {
    const all = document.querySelectorAll<HTMLElement>(
      'main :is(a, button, input, select, textarea, p, h1, h2, h3, label)',
    );
    return [...all]
      .filter(
        (element) => element.checkVisibility({ opacityProperty: true }) && element.closest('.code-block') === null,
      )
      .map((element) => ({ element, box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 1 && (box.right > innerWidth + 0.5 || box.left < -0.5))
      .map(({ element, box }) => `${element.tagName}.${element.className} ends at ${box.right}`);
  });
  assert.deepEqual(outside, [], `outside of the window at ${page.url()}`);
}
