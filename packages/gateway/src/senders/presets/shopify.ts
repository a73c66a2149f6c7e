// Shopify. The kind of event is in a header.
import type { JsonObject, JsonValue, Severity } from '@tocsin/contract';
import { membersOf, objectsOf, type Preset, type SenderEvent, textOf } from '../event.ts';
import { shopifyProblem } from '../signatures/shopify.ts';
import { joinLines, keyOf } from '../text.ts';

const shownItems = 10;

const severityOfTopic: Readonly<Record<string, Severity>> = {
  'orders/paid': 'info',
  'orders/fulfilled': 'info',
  'orders/cancelled': 'warning',
  'disputes/create': 'error',
  'app/uninstalled': 'warning',
};

/** Actions in topics whose word for people is another one. */
const happenings: Readonly<Record<string, string>> = {
  create: 'created',
  update: 'updated',
  delete: 'deleted',
  partially_fulfilled: 'partially fulfilled',
};

interface ShopEvent {
  object: JsonObject;
  happened: string;
  shop: string;
}

/** The part of a topic before the slash → how to read its events. */
const readers: Readonly<Record<string, (event: ShopEvent) => SenderEvent>> = {
  orders: ({ object, happened, shop }) => ({
    title: `${object.test === true ? '[Test] ' : ''}Order ${textOf(object.name) ?? ''} ${happened}`,
    body: joinLines(
      amountOf(object.current_total_price ?? object.total_price, object.currency),
      ...itemsOfOrder(object),
    ),
    ...about('order', object.id, shop),
  }),
  refunds: ({ object, shop }) => ({
    title: withAmount('Refund', objectsOf(object.transactions, 1)[0] ?? {}),
    body: textOf(object.note),
    ...about('order', object.order_id, shop),
  }),
  disputes: ({ object, happened, shop }) => ({
    title: withAmount(`Dispute ${happened}`, object),
    body: joinLines(textOf(object.reason), lineOf('Evidence due by', object.evidence_due_by)),
    ...about('order', object.order_id, shop),
  }),
  products: ({ object, happened, shop }) => ({
    title: `Product ${textOf(object.title) ?? ''} ${happened}`,
    ...about('product', object.id, shop),
  }),
  app: ({ object, happened, shop }) => ({ title: `App ${happened} from ${textOf(object.name) ?? shop}` }),
};

export const shopify: Preset = {
  name: 'shopify',
  label: 'Shopify',
  matches: ({ headers }) => headers['x-shopify-topic'] !== undefined,

  read({ headers, body: { value } }) {
    const topic = headers['x-shopify-topic'] ?? '';
    const [kind = '', action = ''] = topic.split('/');
    const read = Object.hasOwn(readers, kind) ? readers[kind] : undefined;
    if (read === undefined) return null;
    const shop = headers['x-shopify-shop-domain'] ?? 'Shopify';
    const happened = (Object.hasOwn(happenings, action) ? happenings[action] : undefined) ?? action;
    return {
      source: shop,
      severity: Object.hasOwn(severityOfTopic, topic) ? severityOfTopic[topic] : null,
      resolved: topic === 'orders/fulfilled',
      ...read({ object: membersOf(value), happened, shop }),
    };
  },

  signatureProblem: shopifyProblem,
};

/** The thread and the admin page of a thing. The header with the shop is not signed, so its form is checked. */
function about(kind: 'order' | 'product', id: JsonValue | undefined, shop: string): SenderEvent {
  const number = textOf(id);
  const hasPage = /^[a-z0-9-]+\.myshopify\.com$/i.test(shop) && /^\d+$/.test(number ?? '');
  return { threadKey: keyOf(kind, number), clickUrl: hasPage ? `https://${shop}/admin/${kind}s/${number}` : undefined };
}

function itemsOfOrder({ line_items }: JsonObject): (string | undefined)[] {
  return objectsOf(line_items, shownItems).map(({ name, quantity }) => {
    const item = textOf(name);
    return item === undefined ? undefined : `${textOf(quantity) ?? '1'} × ${item}`;
  });
}

function withAmount(title: string, { amount, currency }: JsonObject): string {
  const text = amountOf(amount, currency);
  return text === undefined ? title : `${title}: ${text}`;
}

function amountOf(amount: JsonValue | undefined, currency: JsonValue | undefined): string | undefined {
  const text = textOf(amount);
  return text === undefined ? undefined : `${text} ${textOf(currency) ?? ''}`.trim();
}

function lineOf(name: string, value: JsonValue | undefined): string | undefined {
  const text = textOf(value);
  return text === undefined ? undefined : `${name} ${text}`;
}
