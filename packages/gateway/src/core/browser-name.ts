const browsers: [pattern: RegExp, name: string][] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|CriOS|Chromium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const systems: [pattern: RegExp, name: string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** Returns `Firefox on Linux`. Does not repeat any text of the client, because it goes into an email that people trust. */
export function browserName(userAgent: string): string {
  const find = (list: typeof browsers): string | undefined => list.find(([pattern]) => pattern.test(userAgent))?.[1];
  return `${find(browsers) ?? 'Unknown browser'} on ${find(systems) ?? 'an unknown system'}`;
}
