// The colour of a chat message says how bad it is: red is an error, yellow and orange warn, green is good.
import type { Severity } from '@tocsin/contract';

/** null: another colour, or none. */
export function severityOfColour(rgb: number): Severity | null {
  if (!(rgb >= 0 && rgb <= 0xffffff)) return null;
  const [red, green, blue] = [(rgb >> 16) & 0xff, (rgb >> 8) & 0xff, rgb & 0xff];
  const brightest = Math.max(red, green, blue);
  const range = brightest - Math.min(red, green, blue);
  if (range < brightest / 4 || range === 0) return null;
  const hue = hueOf(red, green, blue, range);
  if (hue < 18 || hue >= 345) return 'error';
  if (hue < 70) return 'warning';
  return hue < 170 ? 'info' : null;
}

/** Degrees on the colour wheel: 0 is red, 120 green, 240 blue. */
function hueOf(red: number, green: number, blue: number, range: number): number {
  if (red >= green && red >= blue) return (60 * ((green - blue) / range) + 360) % 360;
  if (green >= blue) return 60 * ((blue - red) / range) + 120;
  return 60 * ((red - green) / range) + 240;
}

/** `#d00`, `#dd0000` or `dd0000`; undefined for any other text. */
export function parseHexColour(text: string): number | undefined {
  const [, digits = ''] = /^#?((?:[0-9a-f]{3}){1,2})$/i.exec(text) ?? [];
  if (digits === '') return undefined;
  const six = digits.length === 6 ? digits : digits.replace(/./g, '$&$&');
  return Number.parseInt(six, 16);
}
