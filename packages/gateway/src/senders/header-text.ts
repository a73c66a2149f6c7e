// The text of a header. Node reads the bytes as latin1; senders write ASCII, UTF-8 or encoded words (RFC 2047).
import { isUtf8 } from 'node:buffer';

const encodedWord = /=\?([\w-]+)\?([bq])\?([^?\s]*)\?=/gi;

export function headerText(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  // Text beyond latin1 is already decoded.
  const isLatin1 = bytes.toString('latin1') === value;
  const text = isLatin1 && isUtf8(bytes) ? bytes.toString('utf8') : value;
  return text.replace(/(\?=)\s+(?==\?)/g, '$1').replace(encodedWord, decodeWord);
}

/** A word that cannot be decoded stays as it is. */
function decodeWord(word: string, charset: string, encoding: string, content: string): string {
  const bytes = encoding.toLowerCase() === 'b' ? Buffer.from(content, 'base64') : decodeQ(content);
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return word;
  }
}

function decodeQ(content: string): Buffer {
  const unescaped = content
    .replaceAll('_', ' ')
    .replace(/=([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return Buffer.from(unescaped, 'latin1');
}
