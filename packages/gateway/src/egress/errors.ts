/**
 * A connection to an address that a caller chose failed. The message is the same for every cause, so that the gateway
 * cannot be used to scan networks.
 */
export class EgressFailed extends Error {
  override readonly name: string = 'EgressFailed';

  constructor() {
    super('The address could not be reached');
  }
}

/** The address is forbidden: nothing was sent, and a retry does not help. */
export class EgressRefused extends EgressFailed {
  override readonly name = 'EgressRefused';
}
