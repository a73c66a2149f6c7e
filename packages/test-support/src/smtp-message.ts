// Parses an email independently of the library that created it.

export interface Message {
  /** In order, unfolded, as they are in the email. */
  headers: [name: string, value: string][];
  header(name: string): string | undefined;
  text: string;
  html: string;
}

export function parseMessage(raw: string): Message {
  const { headers, body } = splitHead(raw);
  const header = (name: string): string | undefined => headerOf(headers, name);
  const boundary = /boundary="([^"]+)"/.exec(header('Content-Type') ?? '')?.[1] ?? '';
  const parts = body.split(`--${boundary}`).slice(1, -1).map(splitHead);
  const contentOf = (type: string): string => {
    const part = parts.find((candidate) => headerOf(candidate.headers, 'Content-Type')?.startsWith(type));
    return part === undefined
      ? ''
      : decodeBody(part.body, headerOf(part.headers, 'Content-Transfer-Encoding') ?? '7bit');
  };
  return { headers, header, text: contentOf('text/plain'), html: contentOf('text/html') };
}

/** The encoded words of RFC 2047 in a header. */
export function decodeWords(value: string): string {
  return value
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?UTF-8\?([QB])\?([^?]*)\?=/gi, (_, encoding: string, text: string) =>
      encoding.toUpperCase() === 'B'
        ? Buffer.from(text, 'base64').toString()
        : decodeQuotedPrintable(text.replaceAll('_', ' ')),
    );
}

function splitHead(raw: string): { headers: [string, string][]; body: string } {
  const text = raw.replace(/^\r\n/, '');
  const end = text.indexOf('\r\n\r\n');
  const lines = text
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  return { headers, body: text.slice(end + 4) };
}

function headerOf(headers: [string, string][], name: string): string | undefined {
  return headers.find(([candidate]) => candidate.toLowerCase() === name.toLowerCase())?.[1];
}

function decodeBody(body: string, encoding: string): string {
  const text = encoding === 'base64' ? Buffer.from(body, 'base64').toString() : body;
  return (encoding === 'quoted-printable' ? decodeQuotedPrintable(text) : text).replaceAll('\r\n', '\n').trim();
}

function decodeQuotedPrintable(text: string): string {
  const bytes = text
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
