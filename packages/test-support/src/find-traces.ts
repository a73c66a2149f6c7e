// Searches bytes for a secret in the encodings in which it could have been written.

/** Returns the names of the secrets that occur in the bytes. */
export function findTraces(bytes: Uint8Array, secrets: Readonly<Record<string, string>>): string[] {
  const haystack = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Object.entries(secrets)
    .filter(([, secret]) => shapesOf(secret).some((shape) => haystack.includes(shape)))
    .map(([name]) => name);
}

function shapesOf(secret: string): Buffer[] {
  const plain = Buffer.from(secret, 'utf8');
  const asText = [plain.toString('hex'), plain.toString('hex').toUpperCase(), JSON.stringify(secret).slice(1, -1)];
  return [
    plain,
    Buffer.from(secret, 'utf16le'),
    ...[...asText, ...base64Shapes(plain), encodeURIComponent(secret)].map((text) => Buffer.from(text)),
  ];
}

/** Inside a longer value it can start at any of three positions of a group; the outer characters then depend on the rest. */
function base64Shapes(plain: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const shifted = Buffer.concat([Buffer.alloc(offset), plain]);
    return (['base64', 'base64url'] as const).map((encoding) => shifted.toString(encoding).slice(4, -4));
  });
}
