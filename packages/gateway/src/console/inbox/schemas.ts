// What requests about notifications look like. Ids in paths are not in here: one that cannot be is simply not found.
import { categories, severities } from '@tocsin/contract';

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const isId = new RegExp(`^${uuid}$`);

export function isNotificationId(text: string): boolean {
  return isId.test(text);
}

const id = { type: 'string', pattern: `^${uuid}$` } as const;
const ids = { type: 'array', minItems: 1, maxItems: 500, items: id } as const;
const limit = { type: 'integer', minimum: 1, maximum: 100, default: 50 } as const;
const flag = { type: 'string', enum: ['0', '1'] } as const;
const oneOrMore = (words: readonly string[]) => {
  const word = `(${words.join('|')})`;
  return { type: 'string', maxLength: 100, pattern: `^${word}(,${word})*$` } as const;
};

export interface PageQuery {
  limit: number;
  before?: string;
  unread?: '0' | '1';
}

export const pageQuery = { type: 'object', properties: { limit, before: id, unread: flag } } as const;

export interface SearchQuery extends PageQuery {
  q: string;
  severity?: string;
  category?: string;
}

export const searchQuery = {
  type: 'object',
  properties: {
    ...pageQuery.properties,
    q: { type: 'string', maxLength: 200, default: '' },
    severity: oneOrMore([...severities, 'none']),
    category: oneOrMore(categories),
  },
} as const;

const body = <Properties extends Record<string, object>>(required: string[], properties: Properties) => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
});

export const idsBody = body(['ids'], { ids });
export const readBody = body(['ids', 'isRead'], { ids, isRead: { type: 'boolean' } });
export const readAllBody = body(['through'], { through: id });
export const retryBody = body([], {
  channel: { type: 'string', enum: ['push', 'email', 'mqtt'] },
  target: { type: 'string', maxLength: 64 },
});
