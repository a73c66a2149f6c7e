/** Exactly one plain address: no list, no display name, no comment, no control character. Mail would go to somebody else. */
export function isOneAddress(text: string): boolean {
  return text.length <= 254 && /^[^\s@<>(),;:"\\[\]\p{Cc}]+@[^\s@<>(),;:"\\[\]\p{Cc}]+$/u.test(text);
}
