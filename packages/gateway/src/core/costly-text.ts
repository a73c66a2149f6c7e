/** A text with this many separators takes a few milliseconds to parse and to write, whatever its shape. */
const mostSeparators = 4096;

/**
 * They precede every value but the first, in JSON and in forms. In the last three JSON can be escaped, in a text or in a form.
 */
const separators = new Uint8Array(256);
for (const character of ',[{&+%\\') separators[character.charCodeAt(0)] = 1;

/** Whether parsing could take longer than other requests should wait. */
export function isCostlyToParse(bytes: Uint8Array): boolean {
  if (bytes.length <= mostSeparators) return false;
  let count = 0;
  for (let index = 0; index < bytes.length; index += 1) count += separators[bytes[index] as number] as number;
  return count > mostSeparators;
}
