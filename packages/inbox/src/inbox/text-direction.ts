// Text that others wrote, in the order in which it was written. The elements that show it have `dir="auto"`, which keeps the
// text around them as it is.

const overrides = /[\u202d\u202e]/g;
// Arabic and Hebrew need none of these, and some libraries put them around every name.
const embeddingsAndIsolates = /[\u202a-\u202c\u2066-\u2069]/g;

/** `invoice\u202efdp.exe` would read `invoiceexe.pdf`: overrides become a visible sign, the other bidi controls go. */
export function stripBidiControls(content: string): string {
  return content.replaceAll(overrides, '\ufffd').replaceAll(embeddingsAndIsolates, '');
}
