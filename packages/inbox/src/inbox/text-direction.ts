// Keeps untrusted text in its logical order. The elements that show it have `dir="auto"`, which isolates it from the text
// around it.

const overrides = /[\u202d\u202e]/g;
// Arabic and Hebrew text does not need these, and some libraries wrap every name in them.
const embeddingsAndIsolates = /[\u202a-\u202c\u2066-\u2069]/g;

/** `invoice\u202efdp.exe` would read `invoiceexe.pdf`: overrides become U+FFFD, other bidi controls are removed. */
export function stripBidiControls(content: string): string {
  return content.replaceAll(overrides, '\ufffd').replaceAll(embeddingsAndIsolates, '');
}
