// Names a browser for people, by its user agent: "Chrome on Android".
import { push } from '../text/en/push.ts';

/** The first match wins: Edge also calls itself Chrome, and Chrome also calls itself Safari. */
const browsers: [RegExp, string][] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

const systems: [RegExp, string][] = [
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'Mac'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

export function describeBrowser(userAgent: string): string {
  const firstMatch = (table: [RegExp, string][]): string | null =>
    table.find(([pattern]) => pattern.test(userAgent))?.[1] ?? null;
  return push.deviceName(firstMatch(browsers), firstMatch(systems));
}
