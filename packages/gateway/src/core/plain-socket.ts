import type { Socket } from 'node:net';

/** The TCP socket beneath TLS, for which Node has no public name. */
export function plainSocketOf(socket: Socket): Socket | undefined {
  return (socket as Socket & { _parent?: Socket })._parent;
}
