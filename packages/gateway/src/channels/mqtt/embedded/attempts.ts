// Failed sign-ins per address. Device secrets are random, so this keeps off load rather than lucky guesses.
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { limitUnit } from '../../../core/limit-unit.ts';
import { limits } from './limits.ts';

export class Attempts {
  readonly #failures = new RateLimiterMemory({ points: limits.wrongPasswordsPerMinute, duration: 60 });

  async isExhausted(address: string): Promise<boolean> {
    const state = await this.#failures.get(limitUnit(address));
    return state !== null && state.consumedPoints >= limits.wrongPasswordsPerMinute;
  }

  async countFailure(address: string): Promise<void> {
    await this.#failures.penalty(limitUnit(address), 1);
  }
}
