// What stands in the form of a new key → what the console is asked for.
import { parseAllowedDomain } from '@tocsin/contract/allowed-domain';
import type { NewKey } from '@tocsin/contract/console';

export const expiryChoices = ['never', '30', '90', '365', 'date'] as const;
export type ExpiryChoice = (typeof expiryChoices)[number];
export const rateUnits = ['s', 'm', 'h', 'd'] as const;
export type RateUnit = (typeof rateUnits)[number];

export interface KeyForm {
  label: string;
  type: NewKey['type'];
  /** As typed: one per line, or separated by commas. */
  domains: string;
  expiry: ExpiryChoice;
  /** Of an input for date and time: in the zone of the person. */
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

export function readKeyForm(form: KeyForm, now: number): NewKey {
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

/** The first entry that is no domain; null: all are. */
export function wrongDomain({ domains }: KeyForm): string | null {
  return splitDomains(domains).find((domain) => parseAllowedDomain(domain) === undefined) ?? null;
}

function splitDomains(typed: string): string[] {
  return typed
    .split(/[\n,;]+/)
    .map((domain) => domain.trim())
    .filter((domain) => domain !== '');
}

/** A date that is missing or in the past is sent as it is: the console says what is wrong with it. */
function readExpiry({ expiry, expiresAt }: KeyForm, now: number): number | null {
  if (expiry === 'never') return null;
  if (expiry === 'date') return new Date(expiresAt).getTime() || 0;
  return now + Number(expiry) * dayMs;
}
