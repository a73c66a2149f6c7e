// The guarded way out: whatever a caller may make the gateway talk to is reached through here, and through nothing else.
import type { TLSSocket } from 'node:tls';
import type { AddressPolicy } from '../core/address-policy.ts';
import { createSystemResolver, type Resolve } from './addresses.ts';
import { dial } from './dial.ts';
import { GuardedAgent, type PostAnswer, type PostRequest, post } from './post.ts';

export type { Resolve } from './addresses.ts';
export { EgressFailed, EgressRefused } from './errors.ts';
export type { PostAnswer, PostRequest } from './post.ts';

export interface EgressOptions {
  resolve?: Resolve;
  /** Certificate authorities in PEM form, in place of those that Node knows. */
  ca?: string[];
  /** For a connection to come about, and for the whole of a POST. */
  timeoutMs?: number;
}

/** Both reject with EgressFailed; with EgressRefused where the address may never be dialled. */
export interface Egress {
  /** `owner` is on whose behalf: lookups of names are shared out among owners. */
  connect(host: string, port: number, signal: AbortSignal, owner?: string): Promise<TLSSocket>;
  /** https only. Redirects are not followed. */
  post(url: URL, request: PostRequest, signal: AbortSignal): Promise<PostAnswer>;
  /** Ends connections that were kept for further posts. */
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
