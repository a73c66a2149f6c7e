// A digest over all rows of a table in the order of its key, which is equal for equal tables on both backends.
import { createHash } from 'node:crypto';
import type { Row, Table } from './transfer-tables.ts';

export interface TableDigest {
  name: string;
  rows: number;
  digest: string;
}

export class RowDigester {
  readonly #name: string;
  readonly #hash = createHash('sha256');
  #rows = 0;

  constructor({ name }: Table) {
    this.#name = name;
  }

  add(row: Row): void {
    this.#rows += 1;
    // Every value is preceded by its length, so that different rows have different encodings.
    let text = '';
    for (const value of row) {
      if (value === null) text += '-;';
      else if (typeof value === 'number') text += `${value};`;
      else if (typeof value === 'string') text += `${value.length}:${value};`;
      else {
        this.#hash.update(`${text}${value.length}#`);
        this.#hash.update(value);
        text = ';';
      }
    }
    this.#hash.update(text);
  }

  end(): TableDigest {
    return { name: this.#name, rows: this.#rows, digest: this.#hash.digest('hex') };
  }
}
