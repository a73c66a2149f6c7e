// Events of Stripe. Card data, which charges have, is never read.
import type { JsonObject, JsonValue, Severity } from '@tocsin/contract';
import { membersOf, type Preset, textOf } from '../event.ts';
import { stripeProblem } from '../signatures/stripe.ts';
import { capitalize, joinLines } from '../text.ts';

/** Prefixes of event types, in the words of the dashboard. */
const shortPrefixes: readonly [RegExp, string][] = [
  [/^payment_intent\.(payment_)?/, 'payment.'],
  [/^charge\.dispute\./, 'dispute.'],
  [/^customer\.subscription\./, 'subscription.'],
];
const maxTypeCharacters = 100;
const amountMembers = ['amount', 'amount_due', 'amount_total', 'total'];
const descriptionMembers = ['description', 'number', 'name', 'email'];
const reasonMembers = ['failure_message', 'reason'];
/** https://docs.stripe.com/currencies */
const wholeCurrencies = new Set('bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '));
const thousandthCurrencies = new Set('bhd jod kwd omr tnd'.split(' '));

export const stripe: Preset = {
  name: 'stripe',
  label: 'Stripe',

  matches({ headers, body: { value } }) {
    const { object, id } = membersOf(value);
    return headers['stripe-signature'] !== undefined || (object === 'event' && /^evt_/.test(textOf(id) ?? ''));
  },

  read({ body: { value } }) {
    const event = membersOf(value);
    const type = textOf(event.type);
    if (type === undefined || type.length > maxTypeCharacters) return null;
    const object = membersOf(membersOf(event.data).object);
    const isTest = event.livemode === false;
    const words = shortPrefixes.reduce((text, [prefix, short]) => text.replace(prefix, short), type);
    const happened = capitalize(words.replace(/[._]/g, ' '));
    const amount = amountOf(object, /refunded$/.test(type) ? ['amount_refunded', ...amountMembers] : amountMembers);
    return {
      title: `${isTest ? '[Test] ' : ''}${happened}${amount === undefined ? '' : `: ${amount}`}`,
      body: joinLines(first(object, descriptionMembers), reasonOf(object)),
      severity: severityOfType(type, object),
      source: 'Stripe',
      clickUrl: linkOf(event.id, isTest),
      threadKey: textOf(object.id),
      resolved: /\.(succeeded|paid|payment_succeeded)$|\.dispute\.closed$/.test(type),
      idempotencyKey: textOf(event.id),
    };
  },

  signatureProblem: stripeProblem,
};

function severityOfType(type: string, { status }: JsonObject): Severity | null {
  if (/\.dispute\.(closed|funds_reinstated)$/.test(type)) return status === 'lost' ? 'warning' : 'info';
  if (/failed$|\.dispute\./.test(type)) return 'error';
  if (/action_required$|early_fraud_warning/.test(type)) return 'warning';
  return /succeeded$|\.paid$|completed$/.test(type) ? 'info' : null;
}

function linkOf(id: JsonValue | undefined, isTest: boolean): string | undefined {
  const name = textOf(id) ?? '';
  return /^evt_\w+$/.test(name) ? `https://dashboard.stripe.com/${isTest ? 'test/' : ''}events/${name}` : undefined;
}

/** `20.00 EUR`, from an amount in the smallest unit of its currency. */
function amountOf(object: JsonObject, names: readonly string[]): string | undefined {
  const amount = names.map((name) => object[name]).find((value) => typeof value === 'number');
  const currency = textOf(object.currency)?.toLowerCase();
  if (typeof amount !== 'number' || currency === undefined) return undefined;
  const digits = wholeCurrencies.has(currency) ? 0 : thousandthCurrencies.has(currency) ? 3 : 2;
  return `${(amount / 10 ** digits).toFixed(digits)} ${currency.toUpperCase()}`;
}

function reasonOf(object: JsonObject): string | undefined {
  return first(object, reasonMembers) ?? textOf(membersOf(object.last_payment_error).message);
}

function first(object: JsonObject, names: readonly string[]): string | undefined {
  return names.map((name) => textOf(object[name])).find((text) => text !== undefined);
}
