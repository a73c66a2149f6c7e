// The fields of an API key: one set of rules for the console, the command line and the app. Pure and free of Node, so that it
// runs in a browser.
import { parseAllowedDomain } from './allowed-domain.ts';
import { lineProblem } from './printable.ts';
import { parseRate } from './rate.ts';

export const keyLimits = {
  labelCharacters: 100,
  domains: 100,
  domainCharacters: 300,
  rateLimitCharacters: 20,
  /** The last time that a Date can hold. */
  expiresAt: 8.64e15,
} as const;

export interface KeyFields {
  label: string | null;
  allowedDomains: readonly string[];
  /** As `100/m`. */
  rateLimit: string | null;
  expiresAt: number | null;
}

export interface KeyProblem {
  /** The name of the field; for a domain with its index: `allowedDomains[0]`. */
  field: string;
  problem: string;
}

/** What is wrong with one value; null: nothing. */
export const keyFieldProblem = {
  label: (label: string, maxLength: number = keyLimits.labelCharacters): string | null =>
    lineProblem(label.trim(), maxLength),
  allowedDomain: (domain: string): string | null =>
    domain.length <= keyLimits.domainCharacters && parseAllowedDomain(domain) !== undefined
      ? null
      : 'must be a domain such as example.com, *.example.com or http://nas',
  rateLimit: (rate: string): string | null =>
    parseRate(rate) === undefined ? 'must look like 100/m (s, m, h or d)' : null,
  expiresAt: (at: number, now: number): string | null =>
    Number.isInteger(at) && at > now && at <= keyLimits.expiresAt ? null : 'must be in the future',
};

/** Every problem, in the order of the fields. */
export function keyProblems(
  { label, allowedDomains, rateLimit, expiresAt }: KeyFields,
  { now, labelCharacters = keyLimits.labelCharacters }: { now: number; labelCharacters?: number },
): KeyProblem[] {
  const checked: [field: string, problem: string | null][] = [
    ['label', label === null ? null : keyFieldProblem.label(label, labelCharacters)],
    ...allowedDomains.map((domain, index): [string, string | null] => [
      `allowedDomains[${index}]`,
      keyFieldProblem.allowedDomain(domain),
    ]),
    ['rateLimit', rateLimit === null ? null : keyFieldProblem.rateLimit(rateLimit)],
    ['expiresAt', expiresAt === null ? null : keyFieldProblem.expiresAt(expiresAt, now)],
  ];
  return checked.flatMap(([field, problem]) => (problem === null ? [] : [{ field, problem }]));
}

/** Allowed domains as they are stored: canonical, each once. The domains must be valid. */
export function canonicalDomains(domains: readonly string[]): string[] {
  return [...new Set(domains.map((domain) => parseAllowedDomain(domain) ?? domain))];
}
