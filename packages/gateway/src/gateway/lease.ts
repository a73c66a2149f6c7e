// For how long a process alone may act on something; whoever finds that passed knows that the process died.

/** Longer than a request can take, clocks that differ by seconds included. */
export const leaseMs = 30_000;

/** What is left of a lease must do for one more send, however slow; otherwise it is extended first. */
export const leaseReserveMs = 15_000;
