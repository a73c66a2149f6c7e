// "Chrome on Android": what people call the browser that they hold.

/** The first that fits: Edge also says Chrome, and Chrome also says Safari. */
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

export interface DeviceName {
  /** null where it is none that we know. */
  browser: string | null;
  system: string | null;
}

export function deviceName(userAgent: string): DeviceName {
  const first = (table: [RegExp, string][]): string | null =>
    table.find(([pattern]) => pattern.test(userAgent))?.[1] ?? null;
  return { browser: first(browsers), system: first(systems) };
}
