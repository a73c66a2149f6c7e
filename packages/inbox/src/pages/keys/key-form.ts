// Converts the form for a new key to the request.
import type { NewKey } from '@tocsin/contract/console';
import { keyFieldProblem } from '@tocsin/contract/key-fields';

export const expiryChoices = ['never', '30', '90', '365', 'date'] as const;
export type ExpiryChoice = (typeof expiryChoices)[number];
export const rateUnits = ['s', 'm', 'h', 'd'] as const;
export type RateUnit = (typeof rateUnits)[number];

export interface KeyForm {
  label: string;
  type: NewKey['type'];
  /** One per line, or separated by commas or semicolons. */
  domains: string;
  expiry: ExpiryChoice;
  /** The value of a datetime-local input, in the time zone of the browser. */
  expiresAt: string;
  requireSignature: boolean;
  rateCount: string;
  rateUnit: RateUnit;
}

export const emptyKeyForm: KeyForm = {
  label: '',
  type: 'public_client',
  domains: '',
  expiry: 'never',
  expiresAt: '',
  requireSignature: false,
  rateCount: '',
  rateUnit: 'm',
};

const dayMs = 24 * 60 * 60 * 1000;

export function readKeyForm(form: KeyForm, now: number): NewKey & { allowedDomains: string[] } {
  const { label, type, domains, requireSignature, rateCount, rateUnit } = form;
  return {
    type,
    label: label.trim() || null,
    allowedDomains: splitDomains(domains),
    requireSignature,
    rateLimit: rateCount.trim() === '' ? null : `${rateCount.trim()}/${rateUnit}`,
    expiresAt: readExpiry(form, now),
  };
}

/** The first entry that is not a domain; null if all are. */
export function findInvalidDomain({ domains }: KeyForm): string | null {
  return splitDomains(domains).find((domain) => keyFieldProblem.allowedDomain(domain) !== null) ?? null;
}

function splitDomains(typed: string): string[] {
  return typed
    .split(/[\n,;]+/)
    .map((domain) => domain.trim())
    .filter((domain) => domain !== '');
}

/** A missing date becomes 0, which is in the past and therefore rejected. */
function readExpiry({ expiry, expiresAt }: KeyForm, now: number): number | null {
  if (expiry === 'never') return null;
  if (expiry === 'date') return new Date(expiresAt).getTime() || 0;
  return now + Number(expiry) * dayMs;
}
