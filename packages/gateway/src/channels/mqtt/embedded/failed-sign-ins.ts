// Limits on failed sign-ins. Device passwords are random and cannot be guessed, so the limits protect against load: an
// attempt costs one SHA-256 of at most one packet and one indexed read of the store.
import { BoundedMap } from '../../../core/bounded-map.ts';
import { limits } from './limits.ts';

export interface SignInAttempt {
  /** The key that rate limits have for the address. */
  addressKey: string;
  username: string;
  passwordDigest: string;
}

export class FailedSignIns {
  readonly #byDevice = new WindowCounter(60_000);
  readonly #byAddress = new WindowCounter(1000);
  /** Digests of the passwords that devices signed in with, by user name, most recent last. */
  readonly #accepted = new BoundedMap<string, string>(limits.rememberedSignIns);

  /**
   * Whether the password is compared with the store. A password that was accepted before always is, so that neither a
   * misconfigured client at the same address nor one that uses the name of the device can lock it out.
   */
  isAllowed(attempt: SignInAttempt): boolean {
    if (this.#wasAccepted(attempt)) return true;
    return (
      this.#byAddress.count(attempt.addressKey) < limits.failuresPerAddressAndSecond &&
      this.#byDevice.count(deviceKey(attempt)) < limits.failuresPerDeviceAndMinute
    );
  }

  countFailure(attempt: SignInAttempt): void {
    if (this.#wasAccepted(attempt)) this.#accepted.delete(attempt.username);
    this.#byAddress.add(attempt.addressKey);
    this.#byDevice.add(deviceKey(attempt));
  }

  recordAccepted({ username, passwordDigest }: SignInAttempt): void {
    this.#accepted.renew(username, passwordDigest);
  }

  #wasAccepted({ username, passwordDigest }: SignInAttempt): boolean {
    return this.#accepted.get(username) === passwordDigest;
  }
}

function deviceKey({ addressKey, username }: SignInAttempt): string {
  return `${addressKey} ${username}`;
}

/** Counts per key in windows of fixed length. The number of keys is limited; the oldest are evicted first. */
class WindowCounter {
  readonly #windowMs: number;
  readonly #windows = new BoundedMap<string, { count: number; endsAt: number }>(limits.countedFailures);

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  count(key: string): number {
    const window = this.#windows.get(key);
    return window === undefined || window.endsAt <= performance.now() ? 0 : window.count;
  }

  add(key: string): void {
    const count = this.count(key);
    if (count > 0) {
      (this.#windows.get(key) as { count: number }).count = count + 1;
      return;
    }
    this.#windows.renew(key, { count: 1, endsAt: performance.now() + this.#windowMs });
  }
}
