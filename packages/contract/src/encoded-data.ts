import type { JsonObject } from './json.ts';

declare global {
  interface JSON {
    /** ECMAScript 2026, not declared by TypeScript yet: JSON.stringify writes the text of a primitive value as it is. */
    rawJSON(text: string): unknown;
  }
}

/** The first members of the data that is shown beside the body, for channels that show a short table. */
export interface DataExcerpt {
  /** Long values are truncated. */
  members: JsonObject;
  /** Number of all members. */
  count: number;
}

/** In the order in which JSON.stringify finds them; null while `stringify` is not running. */
let found: EncodedData[] | null = null;

/** JSON.stringify never writes this escape, and escapes the backslash of a text that contains it. */
const placeholder = '"\\u0041"';

/**
 * The data of a notification as JSON text. Data can be built so that parsing or writing it occupies the event loop for a long
 * time; its text is only copied.
 */
export class EncodedData {
  readonly json: string;
  readonly keys: readonly string[];
  readonly excerpt: DataExcerpt;

  constructor({ json, keys, excerpt }: Pick<EncodedData, 'json' | 'keys' | 'excerpt'>) {
    this.json = json;
    this.keys = keys;
    this.excerpt = excerpt;
  }

  toJSON(): unknown {
    if (found === null) return JSON.parse(this.json);
    found.push(this);
    return JSON.rawJSON(placeholder);
  }
}

/** The text that JSON.stringify returns; encoded data is copied into it, and not parsed. */
export function stringify(value: unknown): string {
  const collected: EncodedData[] = [];
  found = collected;
  try {
    const text = JSON.stringify(value);
    if (collected.length === 0) return text;
    const [first = '', ...rest] = text.split(placeholder);
    return rest.reduce((joined, part, index) => joined + (collected[index] as EncodedData).json + part, first);
  } finally {
    found = null;
  }
}
