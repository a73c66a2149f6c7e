/**
 * A connection to an address that a caller chose did not come about. Every cause reads the same, so that nobody can
 * use the gateway to find out what listens where.
 */
export class EgressFailed extends Error {
  override readonly name: string = 'EgressFailed';

  constructor() {
    super('The address could not be reached');
  }
}

/** The address is one that must never be dialled, so nothing was sent there and another try will not help. */
export class EgressRefused extends EgressFailed {
  override readonly name = 'EgressRefused';
}
