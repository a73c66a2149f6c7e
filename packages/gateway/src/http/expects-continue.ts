import type { IncomingMessage } from 'node:http';

export function expectsContinue({ headers: { expect }, httpVersion }: IncomingMessage): boolean {
  // The same check as in Node.
  return httpVersion === '1.1' && expect !== undefined && /(?:^|\W)100-continue(?:$|\W)/i.test(expect);
}
