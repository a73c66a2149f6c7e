// Escapes control characters for terminals. Names and labels are chosen by owners and OpenID providers, and are printed by
// commands that operators run.
import { unprintable } from '@tocsin/contract';

/** One line: every unprintable character becomes U+FFFD. */
export function printable(text: string): string {
  return text.replaceAll(unprintable, '\ufffd');
}

/** The same for text of several lines, which it keeps. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** JSON.stringify escapes only the control characters below U+0020. The value stays the same. */
export function printableJson(json: string): string {
  return json.replaceAll(unprintable, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
