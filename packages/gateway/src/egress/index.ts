// Guarded egress: all connections to addresses that callers choose go through here.
import type { TLSSocket } from 'node:tls';
import type { AddressPolicy } from '../core/address-policy.ts';
import { createSystemResolver, type Resolve } from './addresses.ts';
import { dial } from './dial.ts';
import { GuardedAgent, type PostRequest, type PostResponse, post } from './post.ts';

export type { Resolve } from './addresses.ts';
export { EgressFailed, EgressRefused } from './errors.ts';
export type { PostRequest, PostResponse } from './post.ts';

export interface EgressOptions {
  resolve?: Resolve;
  /** Certificate authorities in PEM form, in place of those that Node knows. */
  ca?: string[];
  /** Timeout for connecting, and for a whole POST. */
  timeoutMs?: number;
}

/** Both reject with EgressFailed; with EgressRefused where the address may never be dialled. */
export interface Egress {
  /** `owner`: the owner on whose behalf it connects; name lookups are shared fairly among owners. */
  connect(host: string, port: number, signal: AbortSignal, owner?: string): Promise<TLSSocket>;
  /** https only. Redirects are not followed. */
  post(url: URL, request: PostRequest, signal: AbortSignal): Promise<PostResponse>;
  /** Closes idle connections. */
  close(): void;
}

export function createEgress(policy: AddressPolicy, options: EgressOptions = {}): Egress {
  const { resolve = createSystemResolver(), ca, timeoutMs = 10_000 } = options;
  const dialOptions = { policy, resolve, ca, timeoutMs };
  const connect: Egress['connect'] = (host, port, signal, owner) => dial(host, port, dialOptions, signal, owner);
  const never = new AbortController().signal;
  const agent = new GuardedAgent((host, port) => connect(host, port, never));
  return {
    connect,
    post: (url, request, signal) => post(url, request, agent, timeoutMs, signal),
    close: () => agent.destroy(),
  };
}
