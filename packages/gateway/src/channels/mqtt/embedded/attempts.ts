// Failed sign-ins per address. Device secrets are random, so this keeps off load rather than lucky guesses.
import ipaddr from 'ipaddr.js';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { limits } from './limits.ts';

export class Attempts {
  readonly #failures = new RateLimiterMemory({ points: limits.wrongPasswordsPerMinute, duration: 60 });

  async isExhausted(address: string): Promise<boolean> {
    const state = await this.#failures.get(unitOf(address));
    return state !== null && state.consumedPoints >= limits.wrongPasswordsPerMinute;
  }

  async countFailure(address: string): Promise<void> {
    await this.#failures.penalty(unitOf(address), 1);
  }
}

/** One IPv4 address, or the /64 network that one IPv6 customer gets. */
function unitOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toNormalizedString().split(':').slice(0, 4).join(':');
}
