import type { AcceptedContent, EncodedData, ErrorCode, ErrorDetail, NormalizedRequest } from '@tocsin/contract';
import type { BodyFormat } from '../core/parse-body.ts';

export interface ThreadOptions {
  /** Networks of the address policy, as text. */
  allowedNetworks: string[];
}

/** The body of a request, or the plaintext of a stored notification. */
export type ParseJob = { kind: 'request'; format: BodyFormat } | { kind: 'content' };

/** Content without objects that are expensive to copy between threads. */
export type PlainContent = Omit<AcceptedContent, 'data'> & { data: Pick<EncodedData, 'json' | 'keys' | 'excerpt'> };

export interface ParseResults {
  request: { request: Omit<NormalizedRequest, 'content'>; content: PlainContent } | RefusedRequest;
  content: PlainContent;
}

export interface RefusedRequest {
  code: ErrorCode;
  details: ErrorDetail[];
}
