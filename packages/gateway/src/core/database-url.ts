/** Supported parameters. The driver would ignore any other, so a typo such as `?sslmod=require` would disable TLS. */
const knownParameters = [
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'ssl',
  'uselibpqcompat',
  'host',
  'port',
  'user',
  'password',
  'options',
];

/** Does not name the unknown parameter: it may be the rest of a password that was not escaped. */
export const databaseUrlWanted =
  'a URL such as postgres://user:password@host:5432/database?sslmode=verify-full ' +
  `(after the question mark only: ${knownParameters.join(', ')})`;

export function parseDatabaseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol)) return undefined;
  return [...url.searchParams.keys()].every((name) => knownParameters.includes(name)) ? text : undefined;
}
