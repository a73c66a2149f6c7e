import type { ConsoleError } from '@tocsin/contract/console';
import { isPrintable, unprintableProblem } from '../../core/printable.ts';
import { ConsoleRefusal } from '../refusal.ts';

type Problem = NonNullable<ConsoleError['details']>[number];

/** Reads a body field by field; `check` then refuses with every problem at once. What is read before that may be a stand-in. */
export class Fields {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #problems: Problem[] = [];

  constructor(body: unknown) {
    this.#values = isObject(body) ? body : {};
    if (!isObject(body)) this.wrong('', 'must be a JSON object');
  }

  value(name: string): unknown {
    return this.#values[name];
  }

  /** One printable line, without white space at its ends, and not empty. */
  text(name: string, maxLength: number): string {
    const value = this.#values[name];
    const text = typeof value === 'string' ? value.trim() : '';
    if (text === '' || text.length > maxLength) this.wrong(name, `must be text of 1 to ${maxLength} characters`);
    else if (!isPrintable(text)) this.wrong(name, unprintableProblem);
    return text;
  }

  /** null, absent and blank are the same. */
  optionalText(name: string, maxLength: number): string | null {
    const value = this.#values[name] ?? '';
    return typeof value === 'string' && value.trim() === '' ? null : this.text(name, maxLength);
  }

  flag(name: string): boolean {
    const value = this.#values[name];
    if (typeof value !== 'boolean') this.wrong(name, 'must be true or false');
    return value === true;
  }

  wrong(field: string, problem: string): void {
    this.#problems.push({ field, problem });
  }

  check(): void {
    const [first] = this.#problems;
    if (first === undefined) return;
    const where = first.field === '' ? 'The body' : first.field;
    throw new ConsoleRefusal('invalid_body', `${where} ${first.problem}.`, this.#problems);
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
