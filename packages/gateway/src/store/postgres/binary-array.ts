// Arrays as parameters in the binary format of PostgreSQL. The driver would write an array as text, which takes both sides
// longer, and twice the bytes for bytea. https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-FORMAT-CODES

/** The type ids of the elements, in the catalog pg_type. */
const typeIds = { bytea: 17, bigint: 20, integer: 23, text: 25 } as const;

export type ElementType = keyof typeof typeIds;
export type Element = string | number | Uint8Array | null;

/** Dimensions, a flag for null, the type of the elements, their number, the lower bound. */
const headerBytes = 20;
const nullLength = -1;

export function toBinaryArray(type: ElementType, elements: readonly Element[]): Buffer {
  let bytes = headerBytes;
  for (const element of elements) bytes += 4 + byteLength(type, element);
  const array = Buffer.allocUnsafe(bytes);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(elements.includes(null) ? 1 : 0, 4);
  array.writeInt32BE(typeIds[type], 8);
  array.writeInt32BE(elements.length, 12);
  array.writeInt32BE(1, 16);
  let at = headerBytes;
  for (const element of elements) {
    const length = byteLength(type, element);
    array.writeInt32BE(element === null ? nullLength : length, at);
    at += 4;
    if (typeof element === 'string') array.write(element, at);
    else if (element instanceof Uint8Array) array.set(element, at);
    else if (element !== null && type === 'bigint') array.writeBigInt64BE(BigInt(element), at);
    else if (element !== null) array.writeInt32BE(element, at);
    at += length;
  }
  return array;
}

function byteLength(type: ElementType, element: Element): number {
  if (element === null) return 0;
  if (typeof element === 'string') return Buffer.byteLength(element);
  if (element instanceof Uint8Array) return element.length;
  return type === 'bigint' ? 8 : 4;
}
