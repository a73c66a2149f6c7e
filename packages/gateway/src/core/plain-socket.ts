import type { Socket } from 'node:net';

/** The TCP socket below a TLS socket, for which Node has no public API. */
export function plainSocketOf(socket: Socket): Socket | undefined {
  return (socket as Socket & { _parent?: Socket })._parent;
}
