/** Exactly one plain address: a list, display name, comment or control character could change the recipient. */
export function isOneAddress(text: string): boolean {
  return text.length <= 254 && /^[^\s@<>(),;:"\\[\]\p{Cc}]+@[^\s@<>(),;:"\\[\]\p{Cc}]+$/u.test(text);
}
